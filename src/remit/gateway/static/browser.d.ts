// Types of the browser module, /remit/browser.js.

/** What a handler gets beside its input. */
export interface Call {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** The id of the call, as the journal names it. */
  readonly invocation: string;
}

/** Runs one capability with an input that the server has validated; what it gives is validated there. */
export type Handler = (input: any, call: Call) => unknown;

/** Handlers by the names of the capabilities: `{ selectRows({ ids }) { … } }`. */
export type Handlers = { readonly [name: string]: Handler };

export interface State {
  /** False: nothing of the component can be used. */
  enabled?: boolean;
  /** Why not, for the agent to read. */
  reason?: string | null;
  /** By capability: true, or why it cannot be used now. It only lowers what the server allows. */
  available?: { readonly [name: string]: true | string };
}

export interface Options extends State {
  /** Which occurrence of the component, where a page shows several: 1 to 128 characters of `[A-Za-z0-9_-]`. */
  instance?: string;
}

/** Thrown by a handler, it is the page's own "no": the agent reads the reason, and nothing was done. */
export class Refused extends Error {
  constructor(reason: string);
}

/** One component that this page answers for. */
export class Binding {
  private constructor();
  readonly type: string;
  readonly instance: string;
  /** May be replaced at any time: what runs is what stands here when a call comes. The names stay those of the bind. */
  handlers: object;
  readonly status: "pending" | "bound" | "refused" | "unbound";
  /** Why it was refused: `not-listed`, `taken`, `too-many`, `no-instance-name`; else how the page ended, or null. */
  readonly reason: string | null;
  /** Say what can be used now. */
  update(state: State): void;
  /** Answer for it no more. */
  unbind(): void;
}

/** The page's one connection. Events: `state`, and `binding` (a CustomEvent with the binding as its detail). */
export class Page extends EventTarget {
  private constructor();
  readonly state: "connecting" | "open" | "away" | "ended";
  /** Why it ended: `signed-out`, `refused` or `failed`; null as long as it has not. */
  readonly reason: string | null;
  /** Answer for a component that is declared `page=True` and listed for this path. */
  bind(type: string, handlers: object, options?: Options): Binding;
  /** Say that the path has changed, where the browser does not tell. */
  moved(): void;
}

/** Connect this page; called again, it gives the same connection. */
export function connect(): Page;
