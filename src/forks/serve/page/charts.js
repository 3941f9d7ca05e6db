// Charts of what is drawn over time, with legends and marks of events.

import { clock } from "./words.js";

const uPlot = window.uPlot;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NEAR = 6; // pixels from the cursor to a mark
const LEAST = 60; // seconds that an axis has
const PALETTE = 10;
const WHOLE = Array.from({ length: 12 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** The colour of a series: a name of the style sheet, or a number of the palette. */
function inkOf(ink) {
  return colour(typeof ink === "number" ? `hue-${ink % PALETTE}` : ink);
}

function element(tag, parent, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

/**
 * A chart on a card.
 *
 * `options` has: id, title, note, text(value) for legends, axis(value) for the axis, stacked, top
 * (a fixed end of the axis), wide, whole (only whole numbers on the axis), decades (powers of ten).
 */
export class Chart {
  constructor(parent, options) {
    this.options = options;
    this.series = [];
    this.data = [[]];
    this.marks = [];
    this.plot = null;
    this.card = element("section", parent, { class: options.wide ? "card wide" : "card", id: options.id });
    const head = element("div", this.card, { class: "titled" });
    const title = element("h2", head, { id: `${options.id}-title` }, options.title);
    this.title = title;
    this.note = element("p", head, { class: "quiet" }, options.note ?? "");
    this.card.setAttribute("aria-labelledby", title.id);
    this.box = element("div", this.card, { class: "plot", role: "img" });
    this.empty = element("p", this.card, { class: "quiet empty" }, "");
    this.tip = element("div", this.box, { class: "tip", hidden: "" });
    this.legend = element("ul", this.card, { class: "legend" });
    this.values = [];
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  /** Give the chart another title and note. */
  name(title, note) {
    this.options.title = title;
    this.title.textContent = title;
    this.note.textContent = note;
  }

  /** Show values: `series` is a list of {label, ink, dash, values}; `why` is told if it is empty. */
  show(times, series, marks = [], why = "") {
    const known = series.length > 0 && times.length > 1;
    this.empty.textContent = known ? "" : why || "Values are to come.";
    this.box.hidden = this.legend.hidden = !known;
    if (!known) return this.drop();
    const values = series.map((each) => each.values);
    this.data = [times, ...(this.options.stacked ? stacked(values) : values)];
    this.raw = values;
    this.marks = marks;
    const same = this.plot && sameSeries(series, this.series);
    this.series = series;
    if (!same) this.build();
    else this.plot.setData(this.data);
    this.tell();
    return undefined;
  }

  drop() {
    this.plot?.destroy();
    this.plot = null;
    this.series = [];
  }

  /** Make the plot anew, for other series or colours. */
  build() {
    this.plot?.destroy();
    const { stacked: isStacked } = this.options;
    const lines = this.series.map((each) => this.line(each, isStacked));
    const bands = isStacked
      ? this.series.slice(1).map((_, i) => ({ series: [i + 2, i + 1], fill: fillOf(this.series[i + 1].ink) }))
      : [];
    this.plot = new uPlot(
      {
        ...this.size(),
        padding: [8, 24, 0, 0],
        legend: { show: false },
        cursor: {
          sync: { key: "forks", setSeries: false },
          drag: { x: false, y: false },
          points: { show: !isStacked, size: 7 },
          y: false,
        },
        scales: { x: { time: true, range: timeRange }, y: this.scale() },
        axes: [this.axis(false), this.axis(true)],
        series: [{}, ...lines],
        bands,
        hooks: { draw: [() => this.drawMarks()], setCursor: [() => this.point()] },
      },
      this.data,
      this.box,
    );
    this.buildLegend();
  }

  line(each, isStacked) {
    const ink = inkOf(each.ink);
    return {
      label: each.label,
      stroke: ink,
      width: isStacked ? 0 : (each.width ?? 1.75),
      dash: each.dash,
      fill: isStacked && each === this.series[0] ? fillOf(each.ink) : undefined,
      spanGaps: Boolean(each.spans),
      points: { show: false },
    };
  }

  axis(vertical) {
    const chosen = vertical && this.options.decades ? { filter: wholeDecades } : {};
    return {
      stroke: colour("quiet"),
      font: FONT,
      grid: { stroke: colour("grid"), width: 1, ...chosen },
      ticks: { show: false },
      size: vertical ? 58 : 26,
      space: vertical ? 36 : 70,
      filter: vertical && this.options.decades ? wholeDecades : undefined,
      incrs: vertical && this.options.whole ? WHOLE : undefined,
      values: vertical
        ? (_, splits) => splits.map((value) => (value === null ? null : this.options.axis(value)))
        : (_, splits) => splits.map((value) => clock(value)),
      ...chosen,
    };
  }

  scale() {
    if (this.options.decades) return { distr: 3, range: (_, low, high) => decades(low, high) };
    const { top } = this.options;
    return { range: (_, low, high) => [0, top ?? (high > 0 ? 1.1 * high : 1)] };
  }

  size() {
    const width = Math.max(120, Math.floor(this.box.clientWidth));
    return { width, height: width < 480 ? 170 : this.options.wide ? 250 : 200 };
  }

  resize() {
    if (this.plot && this.box.clientWidth) this.plot.setSize(this.size());
  }

  buildLegend() {
    this.legend.replaceChildren();
    this.values = this.series.map((each) => {
      const item = element("li", this.legend);
      const swatch = element("span", item, { class: each.dash ? "swatch dashed" : "swatch", "aria-hidden": "true" });
      swatch.style.setProperty("--ink", inkOf(each.ink));
      element("span", item, { class: "label", title: each.label }, each.label);
      return element("span", item, { class: "value" });
    });
  }

  /** Write the values at the cursor, or the last ones, into the legend. */
  tell() {
    const hovered = this.plot?.cursor.idx ?? null;
    const at = hovered ?? this.data[0].length - 1;
    const texts = this.raw.map((values) => this.options.text(valueAt(values, at, hovered === null)));
    for (const [i, text] of texts.entries()) if (this.values[i]) this.values[i].textContent = text;
    if (hovered !== null) return;
    const told = this.series.map((each, i) => `${each.label} ${texts[i]}`).join(", ");
    this.box.setAttribute("aria-label", `${this.options.title}: ${told}`);
  }

  /** Draw events: flags and lines for those that count, ticks at the foot for the others. */
  drawMarks() {
    const { ctx, bbox } = this.plot;
    const pixel = devicePixelRatio;
    ctx.save();
    ctx.lineWidth = pixel;
    ctx.setLineDash([]);
    for (const mark of this.marks) {
      const x = Math.round(this.plot.valToPos(mark.time, "x", true)) + 0.5;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const foot = bbox.top + bbox.height;
      ctx.strokeStyle = ctx.fillStyle = colour(mark.ink);
      if (mark.strong) drawFlag(ctx, x, bbox.top - 5 * pixel, 3.5 * pixel);
      if (this.options.stacked) continue; // lines would not be seen
      ctx.globalAlpha = mark.strong ? 0.5 : 1;
      drawLine(ctx, x, mark.strong ? bbox.top : foot - 7 * pixel, foot);
      ctx.globalAlpha = 1;
    }
    ctx.restore();
  }

  /** Follow the cursor: values into the legend, and what happened where there is a mark. */
  point() {
    this.tell();
    const { left } = this.plot.cursor;
    const near = (mark) => Math.abs(this.plot.valToPos(mark.time, "x") - left) <= NEAR;
    const found = left >= 0 && this.box.matches(":hover") ? this.marks.filter(near) : [];
    this.tip.hidden = !found.length;
    if (!found.length) return;
    this.tip.replaceChildren();
    for (const mark of found.slice(0, 4)) element("p", this.tip, {}, `${clock(mark.time)}  ${mark.text}`);
    const room = this.box.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(4, Math.min(room, left + 64))}px`;
  }
}

function drawLine(ctx, x, from, to) {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}

function drawFlag(ctx, x, y, size) {
  ctx.beginPath();
  ctx.moveTo(x - size, y);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + 1.5 * size);
  ctx.fill();
}

function fillOf(ink) {
  return `color-mix(in srgb, ${inkOf(ink)} 78%, ${colour("card")})`;
}

function timeRange(_, low, high) {
  if (low === null || high === null) return [0, LEAST];
  return [Math.min(low, high - LEAST), high];
}

/** The powers of ten around values. */
function decades(low, high) {
  if (!(low > 0) || !(high > 0)) return [1e-3, 1];
  const first = Math.floor(Math.log10(low));
  return [10 ** first, 10 ** Math.max(first + 1, Math.ceil(Math.log10(high)))];
}

function wholeDecades(_, splits) {
  return splits.map((value) => (Number.isInteger(Number(Math.log10(value).toFixed(6))) ? value : null));
}

function stacked(values) {
  const sums = values[0].map(() => 0);
  return values.map((each) => each.map((value, i) => (value === null ? null : (sums[i] += value))));
}

function sameSeries(some, others) {
  return some.length === others.length && some.every((each, i) => each.label === others[i].label);
}

/** The value at a place; or, if it `may` be older, one of those just before where there is none. */
function valueAt(values, at, may) {
  let place = at;
  while (may && place > 0 && values[place] === null && at - place < 3) place -= 1;
  return values[place] ?? null;
}
