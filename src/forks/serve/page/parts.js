// The parts of the page that are text: models, tiles, events. All text is set as text, never as HTML.

import { FATES, bytes, clock, count, duration, eventWords, measure, milliseconds, plural, rate } from "./words.js";

const $ = (id) => document.getElementById(id);
let shownEvents = "";

function made(tag, text = "", name = "") {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  if (name) node.className = name;
  return node;
}

/** The switcher: a link for each model. Links that are there are kept, so that focus is, too. */
export function showModels(models, current) {
  const links = new Map([...$("models").children].map((link) => [link.dataset.name, link]));
  const order = models.map((model) => {
    const link = links.get(model.name) ?? newLink(model.name);
    const [name, note] = link.children;
    name.textContent = model.name;
    note.textContent = noteOf(model);
    link.classList.toggle("bad", Boolean(model.storage_fault));
    if (model.name === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    return link;
  });
  const there = [...$("models").children];
  const isSame = order.length === there.length && order.every((link, i) => link === there[i]);
  if (!isSame) $("models").replaceChildren(...order);
}

function newLink(name) {
  const link = made("a");
  link.dataset.name = name;
  link.href = `#${encodeURIComponent(name)}`;
  link.append(made("span", name, "name"), made("span", "", "quiet"));
  return link;
}

function noteOf(model) {
  if (model.storage_fault) return "storage fault";
  if (!model.ready) return plural(model.rows, "row", "rows");
  return measure(model.task).text(model.now);
}

/** What is known of the model, in one line. */
export function showFacts(model) {
  $("model-name").textContent = model.name;
  const facts = [model.task ?? "the task is not known yet"];
  if (model.n_columns) facts.push(plural(model.n_columns, "column", "columns"));
  if (model.n_classes) {
    const more = model.n_classes > model.classes.length ? ", …" : "";
    facts.push(`${plural(model.n_classes, "class", "classes")} (${model.classes.join(", ")}${more})`);
  }
  if (!model.ready) facts.push("it begins after the first 100 rows");
  $("facts").textContent = facts.join(" · ");
}

function tiles(state) {
  const { model } = state;
  const { name, text, last } = measure(model.task);
  const age = state.time - model.checkpoint.time;
  const since = model.rows - model.checkpoint.rows;
  return [
    ["now", `${name} now`, text(model.now), `${last} ${text(model.last_label_now)} · last 1,000 rows`],
    ["all", `${name} over all`, text(model.all), `${last} ${text(model.last_label_all)}`],
    ["rows", "Rows learned", count(model.rows), `${rate(model.rows_per_second)} a second`],
    ["requests", "Requests a second", rate(state.requests_per_second), `${count(state.requests)} since the start`],
    ["latency", "Latency p50", milliseconds(state.p50), `p99 ${milliseconds(state.p99)}`],
    ["waiting", "Labels waiting", count(model.waiting_labels), delayOf(model)],
    ["memory", "Memory", bytes(state.memory), `journal ${bytes(model.journal_bytes)}`],
    ["checkpoint", "Checkpoint", `${duration(age)} old`, `${plural(since, "row", "rows")} since`],
  ];
}

function delayOf(model) {
  return model.expected_delay ? `about ${plural(model.expected_delay, "row", "rows")} late` : "no delay measured";
}

/** The figures of now. */
export function showTiles(state) {
  const list = $("tiles");
  for (const [key, title, value, note] of tiles(state)) {
    let tile = list.querySelector(`[data-key="${key}"]`);
    if (!tile) {
      tile = made("div");
      tile.dataset.key = key;
      tile.append(made("dt"), made("dd", "", "figure"), made("dd", "", "quiet"));
      list.append(tile);
    }
    [title, value, note].forEach((text, i) => {
      if (tile.children[i].textContent !== text) tile.children[i].textContent = text;
    });
  }
}

/** The list of events, the latest first; left alone as long as nothing is new. */
export function showEvents(events, timeOf) {
  const told = [...events].reverse().map((event) => {
    const time = timeOf(event.round);
    const when = `row ${count(event.round)}${time === null ? "" : ` · ${clock(time)}`}`;
    return { kind: event.event, when, ...eventWords(event) };
  });
  const text = JSON.stringify(told);
  if (text === shownEvents) return;
  shownEvents = text;
  $("no-events").hidden = told.length > 0;
  $("events-box").hidden = told.length === 0;
  $("events").replaceChildren(...told.map(eventItem));
}

function eventItem({ kind, when, title, detail }) {
  const item = made("li", "", `event ${kind}`);
  item.append(made("span", when, "quiet when"), made("strong", title));
  if (detail) item.append(made("span", detail, "quiet"));
  return item;
}

function showPairs(list, pairs) {
  list.replaceChildren(
    ...pairs.map(([name, value]) => {
      const pair = made("div");
      pair.append(made("dt", name), made("dd", value));
      return pair;
    }),
  );
}

/** What became of late labels. */
export function showFates(model) {
  const pairs = Object.entries(FATES).map(([fate, name]) => [name, count(model.late_labels[fate] ?? 0)]);
  showPairs($("fates"), [["waiting", count(model.waiting_labels)], ...pairs]);
}

/** What is on the disk. */
export function showDisk(state) {
  const { model } = state;
  showPairs($("disk"), [
    ["checkpoint", clock(model.checkpoint.time)],
    ["rows in it", count(model.checkpoint.rows)],
    ["journal since", bytes(model.journal_bytes)],
    ["requests in the queue", count(model.queue)],
    ["faults", model.storage_fault ?? "none"],
  ]);
}

/** What the page is about. */
export function showAbout(state) {
  $("about").textContent = `forks ${state.version} · running for ${duration(state.time - state.started)}`;
}
