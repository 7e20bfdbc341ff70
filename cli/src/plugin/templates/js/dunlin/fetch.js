// `fetch` over `wasi:http`, which gives a redirect as an answer. Each address is checked, or asked about, by itself.

const MAX_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];

// What the host takes from a plugin; it sets the rest itself.
const HEADERS = ['accept', 'accept-language', 'content-type', 'user-agent'];

// The engine's own exceptions name neither the request nor the header.
async function send(request) {
  const what = `fetch: ${request.method} ${request.url}`;
  for (const [name] of request.headers) {
    // The host counts the length itself.
    if (name !== 'content-length' && !HEADERS.includes(name)) {
      throw new TypeError(`${what}: the header ${name} cannot be set: a plugin may set ${HEADERS.join(', ')} only`);
    }
  }
  try {
    return await globalThis.fetch(request);
  } catch (cause) {
    throw new TypeError(`${what}: ${`${cause?.message}`.trim()}`, { cause });
  }
}

export async function fetch(input, init) {
  const follow = init?.redirect ?? input.redirect ?? 'follow';
  let request = new Request(input, init);
  const again = request.body === null ? undefined : await request.clone().arrayBuffer();
  for (let redirects = 0; ; redirects += 1) {
    const { method, headers, url } = request;
    const response = await send(request);
    const location = response.headers.get('location');
    if (!REDIRECTS.includes(response.status) || location === null || follow === 'manual') return response;
    if (follow === 'error' || redirects === MAX_REDIRECTS) throw new TypeError(`fetch: ${url} redirects to ${location}`);
    const rewrites = response.status === 303 ? method !== 'HEAD' : response.status < 303 && method === 'POST';
    const body = rewrites || again === undefined ? {} : { body: again };
    request = new Request(new URL(location, url), { method: rewrites ? 'GET' : method, headers, ...body });
  }
}
