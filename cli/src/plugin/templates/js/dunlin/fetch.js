// `fetch` over `wasi:http`, which gives a redirect as an answer. Each address is checked, or asked about, by itself.

const MAX_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];

export async function fetch(input, init) {
  const follow = init?.redirect ?? input.redirect ?? 'follow';
  let request = new Request(input, init);
  const again = request.body === null ? undefined : await request.clone().arrayBuffer();
  for (let redirects = 0; ; redirects += 1) {
    const { method, headers, url } = request;
    const response = await globalThis.fetch(request);
    const location = response.headers.get('location');
    if (!REDIRECTS.includes(response.status) || location === null || follow === 'manual') return response;
    if (follow === 'error' || redirects === MAX_REDIRECTS) throw new TypeError(`fetch: ${url} redirects to ${location}`);
    const rewrites = response.status === 303 ? method !== 'HEAD' : response.status < 303 && method === 'POST';
    const body = rewrites || again === undefined ? {} : { body: again };
    request = new Request(new URL(location, url), { method: rewrites ? 'GET' : method, headers, ...body });
  }
}
