// The points that are drawn: what the service has kept, and what came since.

const KEPT = 1800; // points
const GAP = 5; // seconds without points, which are not bridged
const TOP = 6; // features that are drawn

export class Track {
  constructor() {
    this.clear();
  }

  clear() {
    this.points = [];
    this.learned = []; // the points that have a number of rows
  }

  get last() {
    return this.points.length ? this.points[this.points.length - 1].time : 0;
  }

  /** Add points later than those that are there. */
  add(points) {
    for (const point of points) {
      if (point.time <= this.last) continue;
      if (this.last && point.time - this.last > GAP) this.points.push({ time: this.last + 1 });
      this.points.push(point);
      if (point.rows !== undefined) this.learned.push(point);
    }
    if (this.points.length > KEPT) this.points.splice(0, this.points.length - KEPT);
    while (this.learned.length && this.learned[0].time < this.points[0].time) this.learned.shift();
  }

  get times() {
    return this.points.map((point) => point.time);
  }

  /** The values of a key, null where there are none. */
  values(key, factor = 1) {
    return this.points.map((point) => (typeof point[key] === "number" ? factor * point[key] : null));
  }

  /** The weights of the experts: a list of values for each. */
  weights() {
    const n = Math.max(0, ...this.points.map((point) => point.weights?.length ?? 0));
    return Array.from({ length: n }, (_, i) => this.points.map((point) => point.weights?.[i] ?? null));
  }

  /** The relevance of the features that mattered most: names and values, between looks null. */
  relevance() {
    const looks = this.points.filter((point) => point.relevance).map((point) => point.relevance);
    if (!looks.length) return { names: [], values: [] };
    const most = new Map();
    for (const look of looks) {
      for (const [name, value] of Object.entries(look)) most.set(name, Math.max(value, most.get(name) ?? 0));
    }
    const names = [...most.keys()].sort((one, other) => most.get(other) - most.get(one)).slice(0, TOP);
    const values = names.map((name) => this.points.map((point) => valueOf(point.relevance, name)));
    const latest = looks[looks.length - 1];
    for (const [i, name] of names.entries()) values[i][this.points.length - 1] = valueOf(latest, name);
    return { names, values };
  }

  /** When the model had learned so many rows: null if that was before the first point. */
  timeOf(round) {
    const known = this.learned;
    let [low, high] = [0, known.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle].rows >= round) high = middle;
      else low = middle + 1;
    }
    if (low === known.length || (low === 0 && known[0].rows !== round)) return null;
    if (low === 0) return known[0].time;
    const [before, after] = [known[low - 1], known[low]];
    const part = (round - before.rows) / (after.rows - before.rows);
    return before.time + part * (after.time - before.time);
  }
}

function valueOf(relevance, name) {
  return relevance && Object.hasOwn(relevance, name) ? relevance[name] : null;
}
