"""A small made-up copy of KuaiRec: its files, columns and types, and none of its data."""

import csv

import numpy as np

MATRIX_COLUMNS = [
    "user_id",
    "video_id",
    "play_duration",
    "video_duration",
    "time",
    "date",
    "timestamp",
    "watch_ratio",
]
USER_COLUMNS = [
    "user_id",
    "user_active_degree",
    "is_lowactive_period",
    "is_live_streamer",
    "is_video_author",
    "follow_user_num",
    "follow_user_num_range",
    "fans_user_num",
    "fans_user_num_range",
    "friend_user_num",
    "friend_user_num_range",
    "register_days",
    "register_days_range",
    *(f"onehot_feat{i}" for i in range(18)),
]
DAY_COLUMNS = [
    "video_id",
    "date",
    "author_id",
    "video_type",
    "play_cnt",
    "play_user_num",
    "play_progress",
    "like_user_num",
    "share_user_num",
    "comment_user_num",
    "follow_user_num",
    "reduce_similar_user_num",
]
# How many values each column of categories has here; the 21 that are used have 172 in all.
VALUES = {
    "user_active_degree": ["full_active", "high_active", "middle_active", "UNKNOWN"],
    "follow_user_num_range": ["(0,10]", "(10,50]", "(50,100]", "(100,150]", "500+", "0"],
    "fans_user_num_range": ["0", "[1,10)", "[10,100)", "[100,1k)"],
    "friend_user_num_range": ["0", "[1,5)", "[5,30)", "[30,60)"],
    "register_days_range": ["61-90", "91-180", "181-365", "366-730"],
    **{f"onehot_feat{i}": [str(j) for j in range(2)] for i in (0, 6, 11)},
    **{f"onehot_feat{i}": [str(j) for j in range(8)] for i in (1, 5, 9, 10)},
    "onehot_feat2": [str(j) for j in range(30)],
    "onehot_feat3": [str(j) for j in range(11)],
    "onehot_feat4": [f"{j}.0" for j in range(16)],
    "onehot_feat7": [str(j) for j in range(54)],
    "onehot_feat8": [str(j) for j in range(9)],
    **{f"onehot_feat{i}": ["0.0", "1.0"] for i in range(12, 18)},
}
N_TAGS = 31
DATES = ("20200705", "20200706", "20200707")


def write_table(path, columns, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in rows)


def write_kuairec(folder, n_users=60, n_videos=40, seed=0):
    """Write the four files; give their rows, as dicts of text."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    users = []
    for user in range(n_users):
        row = {name: str(rng.integers(100)) for name in USER_COLUMNS}
        for name, values in VALUES.items():  # each value at least once
            row[name] = values[user] if user < len(values) else str(rng.choice(values))
        flags = ("is_lowactive_period", "is_live_streamer", "is_video_author")
        row |= {name: str(rng.integers(2)) for name in flags}
        users.append({**row, "user_id": str(user)})
    users[-1]["onehot_feat4"] = ""  # as for some users of KuaiRec
    videos = [
        {"video_id": str(v), "feat": str([v % N_TAGS, *map(int, rng.integers(0, N_TAGS, v % 3))])}
        for v in range(n_videos)
    ]
    days = []
    for video in range(n_videos):
        for date in DATES:
            row = {name: str(rng.integers(1, 50)) for name in DAY_COLUMNS}
            row["play_user_num"] = str(rng.integers(100, 900))
            row["play_progress"] = repr(float(rng.random()))
            days.append({**row, "video_id": str(video), "date": date})
    days[1]["play_user_num"] = "0"
    matrix = []
    for user in range(n_users):  # by user, so not in the order of time
        for video in range(n_videos):
            day = int(rng.integers(len(DATES)))
            stamp = 1593878400.0 + 86400 * day + int(rng.integers(2000)) / 4  # with ties
            played, length = int(rng.integers(20_000)), int(rng.integers(5_000, 20_000))
            row = {
                "user_id": str(user),
                "video_id": str(video),
                "play_duration": str(played),
                "video_duration": str(length),
                "time": "2020-07-05 00:08:23.438",
                "date": DATES[day] + ".0",
                "timestamp": repr(stamp),
                "watch_ratio": repr(played / length),
            }
            if rng.random() < 0.04:  # as in KuaiRec: nothing known of the time
                row |= {"time": "", "date": "", "timestamp": ""}
            matrix.append(row)
    matrix[5]["watch_ratio"] = "0.75"
    matrix[7]["video_id"] = "99999"  # not in the side tables
    write_table(folder / "small_matrix.csv", MATRIX_COLUMNS, matrix)
    write_table(folder / "user_features.csv", USER_COLUMNS, users)
    write_table(folder / "item_categories.csv", ["video_id", "feat"], videos)
    write_table(folder / "item_daily_features.csv", DAY_COLUMNS, days)
    return matrix, users, videos, days
