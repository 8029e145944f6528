// One router for both versions of oRPC; what differs comes in as `lib`.
import { inspect } from 'node:util'

URL.prototype[inspect.custom] = function () { return `URL(${this.href})` }
export const told = value => inspect(value, { depth: 9, breakLength: Infinity, compact: true, sorted: false })

export function makeRouter(lib) {
  const { os, z, ORPCError, eventIterator, native, seen } = lib
  const url = native(z.instanceof(URL), { type: 'string', format: 'uri', 'x-native-type': 'url' })
  const regexp = native(z.instanceof(RegExp), { type: 'string', 'x-native-type': 'regexp' })
  const nan = native(z.nan(), { type: 'null', 'x-native-type': 'nan' })
  const kinds = z.object({
    when: z.date().optional(),
    maybe: z.date().nullable().optional(),
    big: z.bigint().optional(),
    link: url.optional(),
    pattern: regexp.optional(),
    nothing: nan.optional(),
    names: z.set(z.string()).optional(),
    days: z.set(z.date()).optional(),
    ages: z.map(z.string(), z.bigint()).optional(),
    starts: z.map(z.date(), z.set(z.bigint())).optional(),
    deep: z.array(z.object({ at: z.date(), sizes: z.array(z.bigint()).optional() })).optional(),
    either: z.union([z.date(), z.number()]).optional(),
    plain: z.object({ a: z.number().nullable(), b: z.array(z.string()), c: z.boolean() }).optional(),
  })
  const read = os.input(kinds).output(z.string()).handler(({ input }) => {
    // 1.16 makes a pattern when it is first used, and what stands for it until then shows nothing of itself.
    const { pattern } = input
    return told(pattern ? { ...input, pattern: new RegExp(pattern.source, pattern.flags) } : input)
  })
  const declared = os.errors({
    ALREADY_DISABLED: {
      status: 409,
      message: 'Device is already disabled',
      data: z.object({ id: z.string(), since: z.date() }),
    },
    CONFLICT: { message: 'It has changed', data: z.object({ version: z.number() }).optional() },
  })
  const count = z.object({ n: z.number().int(), failAt: z.number().int().optional() })
  const ticks = declared
    .route({ summary: 'Count' })
    .input(count)
    .output(eventIterator(z.object({ i: z.number(), at: z.date() }), z.object({ total: z.number() })))

  async function* counting({ input, errors, signal }) {
    for (let i = 0; i < input.n; i++) {
      if (i === input.failAt) throw errors.ALREADY_DISABLED({ data: { id: 'dev-2', since: new Date(999) } })
      yield { i, at: new Date(i) }
    }
    return { total: input.n }
  }

  return {
    types: {
      read: read.route({ summary: 'Read' }),
      root: os.route({ summary: 'Read a root' }).input(z.array(z.date())).output(z.string()).handler(({ input }) => told(input)),
      set: os.route({ summary: 'Read a set' }).input(z.set(z.bigint())).output(z.string()).handler(({ input }) => told(input)),
      maybe: os.route({ summary: 'Read what may be left out' }).input(z.object({ a: z.number() }).optional()).output(z.string()).handler(({ input }) => told(input)),
      nothing: os.route({ summary: 'Take nothing' }).output(z.string()).handler(({ input }) => told(input)),
      ambiguous: os.route({ summary: 'Ambiguous' }).input(z.object({ at: z.union([z.string(), z.date()]) })).handler(() => 1),
      every: os.route({ summary: 'Give one of every kind' }).handler(() => ({
        date: new Date('2026-01-02T03:04:05.678Z'),
        big: 12345678901234567890n,
        nan: Number.NaN,
        gone: undefined,
        list: [1, undefined, new Date(0), { deep: 7n }],
        url: new URL('https://example.com/a%20b?x=1#y'),
        pattern: /ab+c\/d/gi,
        set: new Set([1, 'two', new Date(0), new Set([3n])]),
        map: new Map([['k', 1], [new Date(0), 2n], [{ o: 1 }, new Map([[1, undefined]])]]),
      })),
      one: os.route({ summary: 'Give a root' }).input(z.object({ of: z.enum(['undefined', 'null', 'number', 'date', 'bigint']) })).handler(({ input }) => ({
        undefined: undefined, null: null, number: 42, date: new Date(0), bigint: 7n,
      })[input.of]),
      typed: os.route({ summary: 'Give what the document says' }).output(z.object({ at: z.date(), big: z.bigint(), names: z.set(z.string()), ages: z.map(z.string(), z.number()) })).handler(() => ({ at: new Date(0), big: 7n, names: new Set(['a']), ages: new Map([['k', 1]]) })),
    },
    devices: {
      list: os.route({ method: 'GET', path: '/devices', summary: 'List devices' })
        .input(z.object({ limit: z.coerce.number().int().optional(), tags: z.array(z.string()).optional(), filter: z.object({ site: z.string(), rooms: z.array(z.string()).optional() }).optional() }))
        .output(z.string()).handler(({ input }) => told(input)),
      disable: declared.route({ method: 'POST', path: '/devices/{id}/disable', summary: 'Disable a device' })
        .input(z.object({ id: z.string(), reason: z.string().min(3).optional() })).output(z.string())
        .handler(({ input, errors, context }) => {
          if (input.id === 'dev-2') throw errors.ALREADY_DISABLED({ data: { id: input.id, since: new Date('2025-12-31T23:59:59.000Z') } })
          return `${input.id} ${input.reason ?? ''} ${context.authorization ?? ''} ${context.key ?? ''}`
        }),
      replace: os.route({ method: 'PUT', path: '/devices/{id}', summary: 'Replace a device', inputStructure: 'detailed' })
        .input(z.object({ params: z.object({ id: z.string() }), query: z.object({ force: z.string().optional() }), body: z.object({ id: z.string().min(3) }) }))
        .output(z.string()).handler(({ input }) => told(input)),
      remove: os.route({ method: 'DELETE', path: '/devices/{id}', summary: 'Remove a device' }).input(z.object({ id: z.string() })).handler(() => undefined),
    },
    errors: {
      thrown: declared.route({ summary: 'Throw' }).input(z.object({ what: z.string() })).handler(({ input, errors }) => {
        switch (input.what) {
          case 'UNAUTHORIZED': case 'FORBIDDEN': case 'NOT_FOUND': case 'TIMEOUT': case 'CONFLICT': throw new ORPCError(input.what, { message: 'secret' })
          case 'TOO_MANY_REQUESTS': throw new ORPCError('TOO_MANY_REQUESTS', { status: 429, message: 'secret', data: { left: 0 } })
          case 'declared': throw errors.ALREADY_DISABLED({ message: 'secret', data: { id: 'dev-2', since: new Date('2025-12-31T23:59:59.000Z') } })
          case 'declared-conflict': throw errors.CONFLICT({ data: { version: 3 } })
          case 'declared-bare': throw errors.CONFLICT()
          case 'wrong-data': throw new ORPCError('ALREADY_DISABLED', { status: 409, data: { id: 'secret' } })
          case 'unknown': throw new ORPCError('NEVER_HEARD', { data: 'secret' })
          default: throw new Error('secret')
        }
      }),
      output: os.route({ summary: 'Answer wrongly' }).output(z.number()).handler(() => 'secret'),
    },
    stream: {
      count: ticks.handler(counting),
      bare: os.route({ summary: 'Stream what nobody declared' }).output(eventIterator(z.union([z.number(), z.null(), z.undefined()]))).handler(async function* () {
        yield 1
        yield null
        yield undefined
      }),
      forever: os.route({ summary: 'Stream without an end' }).output(eventIterator(z.number())).handler(async function* ({ signal }) {
        try {
          for (let i = 0; !signal?.aborted; i++) {
            yield i
            await new Promise(resolve => setTimeout(resolve, 1))
          }
        }
        finally {
          seen.leave()
        }
      }),
    },
    'odd name/é': { 'p q': os.route({ summary: 'Odd' }).output(z.string()).handler(() => 'odd') },
    files: {
      up: os.route({ summary: 'Take a file' }).input(z.object({ file: z.file() })).handler(() => 1),
      down: os.route({ summary: 'Give a file' }).output(z.file()).handler(() => new File(['x'], 'x.txt', { type: 'text/plain' })),
      sly: os.route({ summary: 'Give a file that nobody declared' }).handler(() => ({ file: new File(['x'], 'x.txt', { type: 'text/plain' }) })),
    },
  }
}
