import { Widget, widgetEvents } from './widget.ts';
import type { WidgetEvent } from './widget.ts';

/**
 * `/widget.js`: gives a host's page `Outrigger(command, ...)`, which boots and controls the widget. Without a `boot` in the queue it boots by itself, unless
 * the script has `data-auto-boot="false"`. It loads and stores nothing else until the visitor opens the chat, except for a visitor who has a session from
 * an earlier page. A second script on the page does not make a second widget.
 */

type Listener = (detail?: unknown) => void;
interface Outrigger {
  (command: string, ...given: unknown[]): unknown;
  /** Calls from before this script came, as the snippet in a page keeps them. */
  q?: ArrayLike<unknown>[];
  isLoaded?: true;
}

const page = window as { Outrigger?: Outrigger };
// A module has no current script.
const script = (document.currentScript ??
  document.querySelector('script[data-site-key][src*="widget.js"]')) as HTMLScriptElement | null;

function start(base: string, { siteKey = '', autoBoot }: DOMStringMap, earlier: ArrayLike<unknown>[]): void {
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

  const fail = (code: string, message: string) => {
    // Developers look there first, and a page without an error listener shows nothing else.
    // oxlint-disable-next-line no-console
    console.error(`Outrigger: ${message}`);
    tell('error', { code, message });
  };

  /** The token that was passed; null where there is none, with an error unless it was left out and is not needed. */
  const tokenOf = (given: unknown, isNeeded = false): string | null => {
    const token = (given as { token?: unknown } | null | undefined)?.token;
    if (typeof token === 'string' && token !== '') return token;
    const isLeftOut = (given ?? null) === null || (typeof given === 'object' && (token ?? '') === '');
    if (isNeeded || !isLeftOut)
      fail(
        'token_invalid',
        'The token must be a text. Pass { token } with the visitorToken of POST /v1/chat/sessions.',
      );
    return null;
  };

  const make = (token: string | null) => {
    if (!/^wgt_./.test(siteKey)) {
      fail('site_key_invalid', `data-site-key is "${siteKey}". Set the site key of your chat; it begins with wgt_.`);
      return;
    }
    const onForgotten = () => {
      widget?.end(false);
      make(null);
    };
    widget = new Widget({ base, siteKey, token, tell, fail, onForgotten });
    if (isDrained) begin(widget);
  };
  const begin = (begun: Widget) => {
    tell('ready');
    begun.resume();
  };
  /** Runs a call on the widget. */
  const steer = (run: (on: Widget) => void) => {
    if (widget === null) fail('not_booted', "The chat is not booted. Call Outrigger('boot') first.");
    else run(widget);
  };

  const commands: Record<string, (...given: unknown[]) => unknown> = {
    boot(given) {
      const token = tokenOf(given);
      if (widget === null) make(token);
      else if (token !== widget.token) {
        // An anonymous visitor signs in. Any other change is another visitor: nothing of the first may stay.
        if (widget.token === null && token !== null) widget.renew(token);
        else {
          widget.end();
          make(token);
        }
      }
    },
    update(given) {
      const token = tokenOf(given, true);
      if (token !== null) steer((on) => on.renew(token));
    },
    open: () => steer((on) => on.open()),
    close: () => widget?.close(false),
    show: () => steer((on) => on.show(true)),
    hide: () => widget?.show(false),
    send(content) {
      if (typeof content !== 'string' || content.trim() === '')
        fail('content_invalid', "Outrigger('send', text) needs a text that is not empty.");
      else steer((on) => on.send(content));
    },
    shutdown() {
      widget?.end();
      widget = null;
      listeners = new Map();
    },
    on(event, listener) {
      if (!widgetEvents.includes(event as WidgetEvent) || typeof listener !== 'function') {
        fail(
          'listener_invalid',
          `Outrigger('on', event, listener) needs a function and one of: ${widgetEvents.join(', ')}.`,
        );
        return () => false;
      }
      const of = listeners.get(String(event)) ?? new Set();
      listeners.set(String(event), of.add(listener as Listener));
      if (event === 'ready' && isDrained && widget !== null) apart(listener as Listener);
      return () => of.delete(listener as Listener);
    },
  };

  const outrigger: Outrigger = (command, ...given) => {
    const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (run !== undefined) return run(...given);
    fail('unknown_call', `There is no call "${command}". Use one of: ${Object.keys(commands).join(', ')}.`);
    return undefined;
  };
  outrigger.isLoaded = true;
  page.Outrigger = outrigger;
  const calls = Array.from(earlier, (call) => Array.from(call) as [string]);
  const isBooted = autoBoot === 'false' || calls.some(([command]) => command === 'boot');
  // Listeners first, so that they get the errors of the other calls.
  const listening = calls.filter(([command]) => command === 'on');
  const others = calls.filter(([command]) => command !== 'on');
  for (const call of [...listening, ...(isBooted ? [] : [['boot'] as [string]]), ...others])
    apart(() => outrigger(...call));
  // A listener may stand behind the boot in a page's snippet.
  isDrained = true;
  if (widget !== null) begin(widget);
}

if (page.Outrigger?.isLoaded !== true && script !== null)
  start(script.src.replace(/widget\.js(?:[?#].*)?$/, ''), script.dataset, page.Outrigger?.q ?? []);
