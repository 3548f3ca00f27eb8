import { Widget } from './widget.ts';
import type { WidgetEvent } from './widget.ts';

/**
 * `/widget.js`: gives a host's page `Outrigger(command, ...)`, by which it boots, shows and steers the widget. It loads and keeps nothing until the chat is
 * opened, and no second script makes a second widget.
 */

type Listener = (detail?: unknown) => void;
interface Outrigger {
  (command: string, ...given: unknown[]): unknown;
  /** Calls from before this script came, as the snippet in a page keeps them. */
  q?: ArrayLike<unknown>[];
  isLoaded?: true;
}

const page = window as { Outrigger?: Outrigger };
const script = document.currentScript as HTMLScriptElement | null;

function start(base: string, siteKey: string, earlier: ArrayLike<unknown>[]): void {
  let widget: Widget | null = null;
  let listeners = new Map<string, Set<Listener>>();
  let isDrained = false;

  /** What a host's code throws is the host's to hear of, and must not stop the widget. */
  const apart = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      setTimeout(() => {
        throw error;
      });
    }
  };
  const tell = (event: WidgetEvent, detail?: unknown) => {
    for (const listener of listeners.get(event) ?? []) apart(() => listener(detail));
  };

  const tokenOf = (given: unknown): string | null => {
    const token = (given as { token?: unknown } | null | undefined)?.token;
    return typeof token === 'string' && token !== '' ? token : null;
  };

  const commands: Record<string, (...given: unknown[]) => unknown> = {
    boot(given) {
      const token = tokenOf(given);
      if (widget !== null && widget.token === token) return;
      // Another visitor: nothing of the first may stay.
      widget?.end();
      widget = new Widget({ base, siteKey, token, tell });
      if (isDrained) tell('ready');
    },
    update(given) {
      const token = tokenOf(given);
      if (token !== null) widget?.renew(token);
    },
    open: () => widget?.open(),
    close: () => widget?.close(false),
    show: () => widget?.show(true),
    hide: () => widget?.show(false),
    send: (content) => {
      if (typeof content === 'string' && content.trim() !== '') widget?.send(content);
    },
    shutdown() {
      widget?.end();
      widget = null;
      listeners = new Map();
    },
    on(event, listener) {
      const of = listeners.get(String(event)) ?? new Set();
      listeners.set(String(event), of.add(listener as Listener));
      if (event === 'ready' && isDrained && widget !== null) apart(listener as Listener);
      return () => of.delete(listener as Listener);
    },
  };

  const outrigger: Outrigger = (command, ...given) => {
    const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (run === undefined) throw new TypeError(`Outrigger has no command ${command}.`);
    return run(...given);
  };
  outrigger.isLoaded = true;
  page.Outrigger = outrigger;
  for (const call of earlier) apart(() => outrigger(...(Array.from(call) as [string])));
  // A listener may stand behind the boot in a page's snippet.
  isDrained = true;
  if (widget !== null) tell('ready');
}

if (page.Outrigger?.isLoaded !== true && script !== null)
  start(script.src.replace(/widget\.js(?:[?#].*)?$/, ''), script.dataset['siteKey'] ?? '', page.Outrigger?.q ?? []);
