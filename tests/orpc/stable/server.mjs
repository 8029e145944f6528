import { minifyContractRouter } from '@orpc/contract'
import { OpenAPIGenerator } from '@orpc/openapi'
import { OpenAPIHandler } from '@orpc/openapi/node'
import { eventIterator, ORPCError, os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/node'
import { BatchHandlerPlugin, SimpleCsrfProtectionHandlerPlugin } from '@orpc/server/plugins'
import { JSON_SCHEMA_REGISTRY, ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import { z } from 'zod'
import { makeRouter } from '../router.mjs'
import { Seen, serve } from '../serving.mjs'

const seen = new Seen()
const native = (schema, json) => (JSON_SCHEMA_REGISTRY.add(schema, json), schema)
const router = makeRouter({ os: os.$context(), z, ORPCError, eventIterator, native, seen })
const generator = new OpenAPIGenerator({ schemaConverters: [new ZodToJsonSchemaConverter({ unsupportedJsonSchema: {} })] })
await serve({
  rpc: new RPCHandler(router, { plugins: [new BatchHandlerPlugin()] }),
  csrf: new RPCHandler(router, { plugins: [new SimpleCsrfProtectionHandlerPlugin()] }),
  api: new OpenAPIHandler(router),
  contract: minifyContractRouter(router),
  document: await generator.generate(router, { info: { title: 'Fleet', version: '1' } }),
  seen,
})
