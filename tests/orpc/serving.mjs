// The host around the handlers: keeps what arrives, byte by byte, and ends with whoever started it.
import { createServer } from 'node:http'

/** What arrived, and how many endless streams were left; `until` waits for so many of either. */
export class Seen {
  requests = []
  left = 0
  #waiting = []

  arrived(request) {
    this.requests.push(request)
    this.#look()
  }

  leave() {
    this.left += 1
    this.#look()
  }

  until(count, reached) {
    this.#waiting.push([count, reached])
    this.#look()
  }

  #look() {
    this.#waiting = this.#waiting.filter(([count, reached]) => (count(this) ? void reached() : true))
  }
}

const CUT = [': \n\n', 'event: message\ndata: {"json":{"i":0,"at":"1970-01-01T00:00:00.000Z"},"meta":[[1,"at"]]}\n\n', 'event: message\ndata: {"json":{"i":1']

export async function serve({ rpc, api, csrf, contract, document, seen }) {
  const server = createServer(async (request, response) => {
    const [, word, of, number] = request.url.split('/')
    if (word === 'seen') {
      const count = { arrived: it => it.requests.length, left: it => it.left }[of] ?? (() => 0)
      seen.until(it => count(it) >= Number(number ?? 0), () => {
        response.end(JSON.stringify({ requests: seen.requests, left: seen.left }))
      })
      return
    }
    // What the parser hands over is kept on its way: a listener of our own would take it from the handler.
    const chunks = []
    const push = request.push.bind(request)
    request.push = (chunk) => {
      if (chunk === null) seen.arrived({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString('latin1') })
      else chunks.push(chunk)
      return push(chunk)
    }
    if (request.headers['x-cut']) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const part of CUT.slice(0, Number(request.headers['x-cut']))) response.write(part)
      response.end()
      return
    }
    const context = { authorization: request.headers.authorization, key: request.headers['idempotency-key'] }
    const found = await rpc.handle(request, response, { prefix: '/rpc', context })
    if (found.matched) return
    if ((await api.handle(request, response, { prefix: '/api', context })).matched) return
    if ((await csrf?.handle(request, response, { prefix: '/csrf', context }))?.matched) return
    response.writeHead(404, { 'content-type': 'text/plain' })
    response.end('Not found')
  })
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ port: server.address().port, contract, document })}\n`)
  })
  // A client that leaves is no reason to end for all others; what was not meant is told where a test's output stands.
  process.on('unhandledRejection', reason => console.error(reason))
  process.stdin.on('end', () => process.exit(0))
  process.stdin.resume()
}
