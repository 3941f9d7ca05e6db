// Server-sent events by fetch, which can send a token; EventSource cannot.

const KEY = "forks-token";
const PAUSES = [1, 2, 5, 10]; // seconds before the next try

let memory = ""; // where there is no session storage

export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return memory;
  }
}

export function keepToken(value) {
  memory = value;
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    // it lasts as long as the page
  }
}

/** Yield the lines of a stream of bytes. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const whole = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = whole.pop();
    for (const line of whole) yield line;
  }
}

async function* messages(body) {
  let event = "message";
  let data = [];
  for await (const line of lines(body)) {
    if (line === "") {
      if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
      event = "message";
      data = [];
    } else if (line.startsWith("event:")) {
      event = line.slice(6).trim();
    } else if (line.startsWith("data:")) {
      data.push(line.slice(5).replace(/^ /, ""));
    }
  }
}

/**
 * Follow the service until told to stop.
 *
 * `on` has: model() and since() for the question; message(event, data); lost(why, seconds) before
 * another try; refused(status, detail) when a token is needed, which ends it.
 */
export function follow(on) {
  const control = new AbortController();
  run(on, control.signal);
  return () => control.abort();
}

async function run(on, signal) {
  let failures = 0;
  while (!signal.aborted) {
    let why = "the stream has ended";
    try {
      const answer = await ask(on, signal);
      if (answer.status === 401 || answer.status === 403) {
        on.refused(answer.status, await detailOf(answer));
        return;
      }
      if (!answer.ok) throw new Error(await detailOf(answer));
      for await (const { event, data } of messages(answer.body)) {
        if (signal.aborted) return;
        failures = 0;
        on.message(event, data);
      }
    } catch (error) {
      if (signal.aborted) return;
      why = error instanceof TypeError ? "the service cannot be reached" : error.message;
    }
    const pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
    failures += 1;
    on.lost(why, pause);
    await new Promise((done) => setTimeout(done, 1000 * pause));
  }
}

function ask(on, signal) {
  const query = new URLSearchParams({ since: String(on.since()) });
  if (on.model()) query.set("model", on.model());
  const headers = { Accept: "text/event-stream" };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  return fetch(`v1/live?${query}`, { headers, signal, cache: "no-store", credentials: "omit" });
}

async function detailOf(answer) {
  try {
    return (await answer.json()).detail ?? answer.statusText;
  } catch {
    return answer.statusText;
  }
}
