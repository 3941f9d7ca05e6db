// The page: follows the service and shows the model that is chosen, whose name the address keeps.

import { Chart } from "./charts.js";
import { follow, keepToken, token } from "./feed.js";
import { showAbout, showDisk, showEvents, showFacts, showFates, showModels, showTiles } from "./parts.js";
import { Track } from "./track.js";
import { bytes, count, eventWords, expertNames, measure } from "./words.js";
import { milliseconds, millisecondsOnAxis, number, rate, share, shareOnAxis } from "./words.js";

const $ = (id) => document.getElementById(id);
const service = new Track();
const points = new Track();
const MOST_EVENTS = 200;
const events = new Map(); // that were seen, by what they are
let stop = () => {};
let latest = null; // the last state
let shown = null; // the model whose points there are

const shares = { text: share, axis: shareOnAxis };
const latencies = { decades: true, text: milliseconds, axis: millisecondsOnAxis };
const counts = { whole: true, text: count, axis: number };
const errors = { text: (x) => words().text(x), axis: (x) => words().axis(x) };
const charts = Object.fromEntries(
  [
    { id: "error", title: "Mistakes", wide: true, ...errors },
    { id: "weights", title: "Weights of the experts", note: "for the next row", stacked: true, top: 1, ...shares },
    { id: "relevance", title: "Relevance of features", note: "those that have mattered most", ...shares },
    { id: "speed", title: "Rows and requests", note: "a second", text: rate, axis: number },
    { id: "latency", title: "Latency", note: "from a request to its answer", ...latencies },
    { id: "waiting", title: "Labels waiting", note: "for rows predicted under an id", ...counts },
    { id: "memory", title: "Memory", note: "of the service", text: bytes, axis: bytes },
  ].map((options) => [options.id, new Chart($("charts"), options)]),
);

function words() {
  return measure(latest?.model?.task);
}

function chosen() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // an address that is no name
  }
}

// ---- showing ----------------------------------------------------------------------------------

function show() {
  const { model } = latest;
  $("main").hidden = false;
  $("token-form").hidden = true;
  showModels(latest.models, model?.name);
  showFault();
  showAbout(latest);
  $("empty").hidden = latest.models.length > 0;
  $("model").hidden = !model;
  document.title = model ? `${model.name} – forks serve` : "forks serve";
  if (!model) return;
  showFacts(model);
  showTiles(latest);
  showEvents([...events.values()], (round) => points.timeOf(round));
  showFates(model);
  showDisk(latest);
  draw();
}

function showFault() {
  const faults = latest.models.filter((model) => model.storage_fault);
  $("fault").hidden = !faults.length;
  const told = faults.map((model) => `${model.name}: ${model.storage_fault}`).join("; ");
  const text = `Nothing more is learned, since it cannot be kept. ${told}`;
  if (faults.length && $("fault").textContent !== text) $("fault").textContent = text;
}

function marks() {
  const found = [...events.values()].map((event) => ({
    time: points.timeOf(event.round),
    text: eventWords(event).title,
    ink: event.event === "alarm" ? "bad" : event.event === "lead" ? "accent" : "mark",
    strong: event.event === "alarm" || event.event === "lead",
  }));
  const seen = found.filter((mark) => mark.time !== null);
  return seen.sort((one, other) => Number(one.ink === "bad") - Number(other.ink === "bad")); // on top
}

function draw() {
  const [times, happened] = [points.times, marks()];
  drawErrors(times, happened);
  drawExperts(times, happened);
  charts.waiting.show(times, [{ label: "labels", ink: "accent", values: points.values("waiting_labels") }]);
  drawService(times);
}

function drawErrors(times, happened) {
  const { name, unit, last } = words();
  charts.error.name(name, `${unit}; marks are events`);
  const lines = [
    { label: "now", ink: "accent", width: 2.25, values: points.values("now") },
    { label: "over all", ink: 1, values: points.values("all") },
    { label: last, ink: "quiet", dash: [5, 4], values: points.values("last_label_now") },
  ];
  charts.error.show(times, lines.some(hasValues) ? lines : [], happened);
}

function drawExperts(times, happened) {
  const { ready, task, weights } = latest.model;
  const isSingle = ready && !weights.length;
  const names = expertNames(weights.length, task);
  const values = weights.length ? points.weights() : [];
  const experts = values.map((each, i) => ({ label: names[i], ink: inkOf(i, values.length), values: each }));
  charts.weights.show(times, experts, happened, isSingle ? "The learner of this model is a single one." : "");
  const relevance = points.relevance();
  const lines = relevance.names.map((label, i) => ({ label, ink: i, spans: true, values: relevance.values[i] }));
  charts.relevance.show(times, lines, happened, isSingle ? "The learner of this model does not tell." : "");
}

function drawService(times) {
  const own = service.times;
  const speed = [
    { label: "rows learned", ink: "accent", values: points.values("rows_per_second") },
    { label: "requests", ink: 1, values: onto(times, "requests_per_second") },
  ];
  charts.speed.show(times, speed);
  const latency = [
    { label: "p50", ink: "accent", values: service.values("p50") },
    { label: "p99", ink: 1, values: service.values("p99") },
  ];
  charts.latency.show(own, latency.some(hasValues) ? latency : []);
  charts.memory.show(own, [{ label: "memory", ink: "accent", values: service.values("memory") }]);
}

/** The values of the service at the times of the model: glances are taken together. */
function onto(times, key) {
  const known = new Map(service.points.map((point) => [point.time, point[key]]));
  return times.map((time) => known.get(time) ?? null);
}

function hasValues(each) {
  return each.values.some((value) => value !== null);
}

function inkOf(i, n) {
  return i === n - 2 ? "mark" : i === n - 1 ? "quiet" : i;
}

// ---- following --------------------------------------------------------------------------------

function status(state, text) {
  $("status").dataset.state = state;
  if ($("status").textContent !== text) $("status").textContent = text;
}

function take(event, data) {
  if (event === "history") {
    if (data.model !== shown) forget();
    shown = data.model;
    service.add(data.service);
    points.add(data.points ?? []);
    note(data.events ?? []);
    return;
  }
  latest = data;
  service.add([pick(data, ["time", "requests_per_second", "p50", "p99", "memory"])]);
  if (data.model && data.model.name !== shown) forget(); // the first that there is
  shown = data.model?.name ?? null;
  if (data.model) {
    points.add([pointOf(data)]);
    note(data.model.events);
  }
  status("live", "live");
  if (!document.hidden) show();
}

function forget() {
  points.clear();
  events.clear();
}

/** Keep events, the last ones of those that have come. */
function note(some) {
  for (const event of some) {
    events.set([event.round, event.event, event.expert, event.output].join(), event);
  }
  for (const key of [...events.keys()].slice(0, -MOST_EVENTS)) events.delete(key);
}

function pick(from, keys) {
  return Object.fromEntries(keys.map((key) => [key, from[key]]));
}

function pointOf({ time, model }) {
  const keys = ["rows", "rows_per_second", "waiting_labels", "now", "all", "last_label_now", "weights"];
  const point = { time, ...pick(model, keys) };
  const before = points.points.findLast((each) => each.relevance)?.relevance;
  const known = Object.keys(model.relevance).length > 0;
  if (known && JSON.stringify(before) !== JSON.stringify(model.relevance)) point.relevance = model.relevance;
  return point;
}

function begin() {
  stop();
  status("waiting", "connecting");
  stop = follow({
    model: chosen,
    since: () => (chosen() && chosen() === shown ? Math.min(points.last, service.last) : 0),
    message: take,
    lost: (why, seconds) => status("lost", `${why}; again in ${seconds} s`),
    refused: askForToken,
  });
}

function askForToken(code, detail) {
  status("lost", "a token is needed");
  $("main").hidden = true;
  $("token-form").hidden = false;
  const why = code === 403 ? `The service says: ${detail}.` : "The service does not know this token.";
  if (token()) $("token-note").textContent = why;
  $("token").focus();
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    $("token-note").textContent = "A token has letters, digits and signs, and no spaces.";
    return;
  }
  keepToken(given);
  $("token").value = "";
  begin();
});

addEventListener("hashchange", begin);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && latest) show();
});

// ---- theme ------------------------------------------------------------------------------------

function recolour() {
  for (const chart of Object.values(charts)) if (chart.plot) chart.build();
}

$("theme").value = document.documentElement.dataset.theme ?? "auto";
$("theme").addEventListener("change", ({ target }) => {
  if (target.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = target.value;
  try {
    localStorage.setItem("forks-theme", target.value);
  } catch {
    // it lasts as long as the page
  }
  recolour();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);

begin();
