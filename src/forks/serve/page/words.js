// Numbers and events in words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const MISSING = "–";

export function count(n) {
  return n === null || n === undefined ? MISSING : whole.format(n);
}

/** A number with three digits that count. */
export function number(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return MISSING;
  if (Math.abs(x) >= 1000) return whole.format(x);
  return new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(x);
}

export function rate(x) {
  if (x === null || x === undefined) return MISSING;
  return x >= 99.5 ? whole.format(x) : x.toFixed(1);
}

export function percent(x) {
  return x === null || x === undefined ? MISSING : `${(100 * x).toFixed(2)} %`;
}

/** A share for legends: one digit is enough. */
export function share(x) {
  return x === null || x === undefined ? MISSING : `${(100 * x).toFixed(1)} %`;
}

/** A share for an axis. */
export function shareOnAxis(x) {
  return `${Number((100 * x).toPrecision(3))} %`;
}

export function milliseconds(seconds) {
  if (seconds === null || seconds === undefined) return MISSING;
  const ms = 1000 * seconds;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

export function millisecondsOnAxis(seconds) {
  return seconds >= 1 ? `${number(seconds)} s` : `${number(1000 * seconds)} ms`;
}

export function bytes(n) {
  if (n === null || n === undefined) return MISSING;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${unit === 0 || n >= 99.5 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}

export function duration(seconds) {
  seconds = Math.max(0, Math.round(seconds));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function clock(seconds) {
  return new Date(1000 * seconds).toLocaleTimeString("en-GB");
}

export function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** What is drawn of a model: mistakes as a share, or the error of a regression. */
export function measure(task) {
  return task === "regression"
    ? { name: "Error", unit: "root mean squared error", text: number, axis: number, last: "last value" }
    : { name: "Mistakes", unit: "share of rows", text: percent, axis: shareOnAxis, last: "last label" };
}

/** The names of the answers that are weighed: experts by place, the mean of two, the last label, base rates. */
export function expertNames(n, task) {
  const experts = Array.from({ length: Math.max(0, n - 3) }, (_, i) => `expert ${i}${i < 2 ? " (long)" : ""}`);
  return [...experts, "mean of 0 and 1", measure(task).last, task === "regression" ? "mean" : "base rates"];
}

/** The names of the fates of late labels. */
export const FATES = {
  learned: "learned",
  twice: "came twice",
  late: "too late",
  unknown: "of unknown ids",
};

const STARTS = {
  start: "started on the last",
  challenge: "challenges the champion, on the last",
  alarm: "started, as mistakes have risen, on the last",
};

/** A title and details of an event. */
export function eventWords(event) {
  const output = event.output === undefined ? "" : ` of output ${event.output}`;
  if (event.event === "lead") {
    return {
      title: `Expert ${event.expert}${output} leads`,
      detail: `It was started in row ${count(event.started)}.`,
    };
  }
  const details = [];
  const feature = (part) => part.name ?? `x${part.feature}`;
  const { relevance, shift } = event;
  if (relevance && (relevance.ratio >= 1.5 || relevance.ratio <= 1 / 1.5)) {
    const more = relevance.ratio >= 1;
    const times = number(more ? relevance.ratio : 1 / relevance.ratio);
    details.push(`“${feature(relevance)}” counts ${times} times ${more ? "more" : "less"} than to the leader.`);
  }
  if (shift && shift.deviations >= 0.5) {
    const most = shift.deviations >= 5 ? "at least 5" : number(shift.deviations);
    details.push(`“${feature(shift)}” has moved by ${most} standard deviations.`);
  }
  const begun = STARTS[event.event] ?? `${event.event}, on the last`;
  const who = event.event === "alarm" ? "Alarm: expert" : "Expert";
  const title = `${who} ${event.expert}${output} ${begun} ${plural(event.rows, "row", "rows")}`;
  return { title, detail: details.join(" ") };
}
