// A warehouse in Fastify (OpenAPI 3.0 by @fastify/swagger): no operationIds, shared schemas under names of the generator.
//
// `npm ci && npm run document` writes its document; `node app.mjs serve` serves it and says its port.

import { readFileSync, writeFileSync } from 'node:fs'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'

const kinds = /"([a-z ]+)"\s+"([a-z ]+)"/.exec(readFileSync(new URL('../kinds.py', import.meta.url), 'utf8'))
const KINDS = (kinds[1] + kinds[2]).split(' ')
const STATE = { type: 'string', enum: ['new', 'used', 'lost'] }
const PLACE = {
  $id: 'Place',
  type: 'object',
  required: ['hall'],
  properties: { hall: { type: 'string' }, shelf: { type: 'integer', nullable: true } },
}
const NEW = {
  name: { type: 'string', minLength: 1, maxLength: 80 },
  state: { ...STATE, default: 'new' },
  weight: { type: 'number', minimum: 0, nullable: true },
  place: { $ref: 'Place#' },
  tags: { type: 'array', items: { type: 'string' } },
}
const THING = {
  $id: 'Thing',
  type: 'object',
  required: ['id', 'name'],
  properties: { ...NEW, id: { type: 'integer', readOnly: true } },
}
const TREE = {
  $id: 'Tree',
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
}
const PROBLEM = {
  $id: 'Problem',
  type: 'object',
  required: ['code'],
  properties: { code: { type: 'string' }, message: { type: 'string' } },
}
const ID = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }

function things(app, kind) {
  const kept = new Map()
  const answers = { '2xx': { description: 'Done', $ref: 'Thing#' }, 404: { $ref: 'Problem#' } }

  app.get(`/${kind}`, {
    schema: {
      summary: 'List what is kept',
      querystring: {
        type: 'object',
        properties: {
          q: { type: 'string' },
          states: { type: 'array', items: STATE },
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        },
      },
      headers: { type: 'object', properties: { 'x-region': { type: 'string' } } },
      response: { 200: { type: 'array', items: { $ref: 'Thing#' } } },
    },
  }, async ({ query }) =>
    [...kept.values()]
      .filter((each) => each.name.includes(query.q ?? '') && (query.states ?? [each.state]).includes(each.state))
      .slice(0, query.limit))

  app.post(`/${kind}`, {
    schema: {
      summary: 'Add one',
      body: { type: 'object', required: ['name'], properties: NEW, additionalProperties: false },
      response: { 201: { $ref: 'Thing#' } },
    },
  }, async ({ body }, reply) => {
    const made = { ...body, id: kept.size + 1 }
    kept.set(made.id, made)
    return reply.code(201).send(made)
  })

  app.get(`/${kind}/:id`, { schema: { summary: 'Read one', params: ID, response: answers } },
    async ({ params }, reply) => kept.get(params.id) ?? reply.code(404).send({ code: 'unknown-thing' }))

  app.put(`/${kind}/:id/state`, {
    schema: {
      summary: 'Say where one is in its life',
      params: ID,
      body: { type: 'object', required: ['state'], properties: { state: STATE } },
      response: answers,
    },
  }, async ({ params, body }) => Object.assign(kept.get(params.id), body))

  app.delete(`/${kind}/:id`, {
    schema: { summary: 'Drop one', params: ID, response: { 204: { type: 'null', description: 'Dropped' } } },
  }, async ({ params }, reply) => {
    kept.delete(params.id)
    return reply.code(204).send()
  })
}

function difficult(app) {
  app.get('/trees/:name', {
    schema: { summary: 'Read a category with all below it', response: { 200: { $ref: 'Tree#' } } },
  }, async ({ params }) => ({ name: params.name, children: [{ name: 'leaf', children: [] }] }))

  app.put('/trees/:name', {
    schema: { summary: 'Write a category with all below it', body: { $ref: 'Tree#' }, response: { 200: { $ref: 'Tree#' } } },
  }, async ({ body }) => body)

  app.post('/photos', {
    schema: {
      summary: 'Upload a photo',
      consumes: ['multipart/form-data'],
      body: { type: 'object', properties: { photo: { type: 'string', format: 'binary' }, title: { type: 'string' } } },
    },
  }, async () => ({}))

  app.post('/sign-in', {
    schema: {
      summary: 'Say who is there',
      consumes: ['application/x-www-form-urlencoded'],
      body: { type: 'object', required: ['user'], properties: { user: { type: 'string' }, remember: { type: 'boolean' } } },
      response: { 200: { type: 'object', properties: { user: { type: 'string' }, remember: { type: 'boolean' } } } },
    },
  }, async ({ body }) => body)
}

const app = Fastify({ ajv: { customOptions: { coerceTypes: 'array' } } })
await app.register(swagger, {
  openapi: { openapi: '3.0.3', info: { title: 'Warehouse', version: '1' } },
  refResolver: { buildLocalReference: (json, base, fragment, number) => json.$id ?? `def-${number}` },
})
await app.register(formbody)
await app.register(multipart)
for (const each of [PLACE, THING, TREE, PROBLEM]) app.addSchema(each)
for (const kind of KINDS) things(app, kind)
difficult(app)
await app.ready()

if (process.argv[2] === 'serve') {
  await app.listen({ host: '127.0.0.1', port: 0 })
  console.log(app.server.address().port)
  process.stdin.on('end', () => app.close()).resume()
} else {
  writeFileSync(process.argv[3], JSON.stringify(app.swagger(), null, 1) + '\n')
}
