import { minifyRouterContract } from '@orpc/contract'
import { OpenAPIGenerator } from '@orpc/openapi'
import '@orpc/openapi/extensions/route'
import { OpenAPIHandler } from '@orpc/openapi/node'
import { eventIterator, ORPCError, os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/node'
import { BatchHandlerPlugin } from '@orpc/server/plugins'
import { z } from 'zod'
import { makeRouter } from '../router.mjs'
import { Seen, serve } from '../serving.mjs'

const seen = new Seen()
const native = (schema, json) => schema.meta(json)

// There is no converter for zod in 2.0-beta: this one marks native types as that of 1.x does.
const override = io => ({ zodSchema, jsonSchema }) => {
  const def = zodSchema._zod.def
  const inner = schema => toJSON(schema, io)
  if (def.type === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time', 'x-native-type': 'date' })
  if (def.type === 'bigint') Object.assign(jsonSchema, { type: 'string', pattern: '^-?[0-9]+$', 'x-native-type': 'bigint' })
  if (def.type === 'set') Object.assign(jsonSchema, { type: 'array', uniqueItems: true, items: inner(def.valueType), 'x-native-type': 'set' })
  if (def.type === 'map') {
    const pair = { type: 'array', prefixItems: [inner(def.keyType), inner(def.valueType)], maxItems: 2, minItems: 2 }
    Object.assign(jsonSchema, { type: 'array', items: pair, 'x-native-type': 'map' })
  }
}
function toJSON(schema, io) {
  const { $schema, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: override(io) })
  return json
}
const converter = {
  condition: schema => schema?.['~standard'].vendor === 'zod',
  convert: (schema, direction) => [toJSON(schema, direction), schema.safeParse(undefined).success],
}

const router = makeRouter({ os, z, ORPCError, eventIterator, native, seen })
const generator = new OpenAPIGenerator({ converters: [converter] })
await serve({
  rpc: new RPCHandler(router, { plugins: [new BatchHandlerPlugin()] }),
  api: new OpenAPIHandler(router),
  contract: minifyRouterContract(router),
  document: await generator.generate(router, { base: { info: { title: 'Fleet', version: '1' } } }),
  seen,
})
