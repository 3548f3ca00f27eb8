import { Widget, widgetEvents } from './widget.ts';
import type { WidgetEvent } from './widget.ts';

/**
 * `/widget.js`: gives a host's page `Outrigger(command, ...)`, which boots and controls the widget. Without a `boot` in the queue it boots by itself, unless
 * the script has `data-auto-boot="false"`. It loads and stores nothing else until the visitor opens the chat, except for a visitor who has a session from
 * an earlier page. A second script on the page does not make a second widget.
 */

type Listener = (detail?: unknown) => void;
interface Outrigger {
  (command: string, ...args: unknown[]): unknown;
  /** Calls from before this script came, as the snippet in a page keeps them. */
  q?: ArrayLike<unknown>[];
  isLoaded?: true;
}

const page = window as { Outrigger?: Outrigger };
// A module has no current script.
const script = (document.currentScript ??
  document.querySelector('script[data-site-key][src*="widget.js"]')) as HTMLScriptElement | null;

function start(base: string, { siteKey = '', autoBoot }: DOMStringMap, queuedCalls: ArrayLike<unknown>[]): void {
  let widget: Widget | null = null;
  let listeners = new Map<string, Set<Listener>>();
  let isQueueDrained = false;

  /** What a host's code throws is the host's to hear of, and must not stop the widget. */
  const runIsolated = (callback: () => unknown) => {
    try {
      callback();
    } catch (error) {
      setTimeout(() => {
        throw error;
      });
    }
  };
  const emit = (event: WidgetEvent, detail?: unknown) => {
    for (const listener of listeners.get(event) ?? []) runIsolated(() => listener(detail));
  };

  const reportFailure = (code: string, message: string) => {
    // Developers look there first, and a page without an error listener shows nothing else.
    // oxlint-disable-next-line no-console
    console.error(`Outrigger: ${message}`);
    emit('error', { code, message });
  };

  /** The token that was passed; null where there is none, with an error unless it was left out and is not needed. */
  const readToken = (options: unknown, isRequired = false): string | null => {
    const token = (options as { token?: unknown } | null | undefined)?.token;
    if (typeof token === 'string' && token !== '') return token;
    const isOmitted = (options ?? null) === null || (typeof options === 'object' && (token ?? '') === '');
    if (isRequired || !isOmitted)
      reportFailure(
        'token_invalid',
        'The token must be a text. Pass { token } with the visitorToken of POST /v1/chat/sessions.',
      );
    return null;
  };

  const createWidget = (token: string | null) => {
    if (!/^wgt_./.test(siteKey)) {
      reportFailure(
        'site_key_invalid',
        `data-site-key is "${siteKey}". Set the site key of your chat; it begins with wgt_.`,
      );
      return;
    }
    const onVisitEnded = () => {
      widget?.end(false);
      createWidget(null);
    };
    widget = new Widget({ base, siteKey, token, emit, reportFailure, onVisitEnded });
    if (isQueueDrained) startWidget(widget);
  };
  const startWidget = (created: Widget) => {
    emit('ready');
    created.resume();
  };
  /** Runs a call on the widget. */
  const withWidget = (run: (current: Widget) => void) => {
    if (widget === null) reportFailure('not_booted', "The chat is not booted. Call Outrigger('boot') first.");
    else run(widget);
  };

  const commands: Record<string, (...args: unknown[]) => unknown> = {
    boot(options) {
      const token = readToken(options);
      if (widget === null) createWidget(token);
      else if (token !== widget.token) {
        // An anonymous visitor signs in. Any other change is another visitor: nothing of the first may stay.
        if (widget.token === null && token !== null) widget.renew(token);
        else {
          widget.end();
          createWidget(token);
        }
      }
    },
    update(options) {
      const token = readToken(options, true);
      if (token !== null) withWidget((current) => current.renew(token));
    },
    open: () => withWidget((current) => current.open()),
    close: () => widget?.close(false),
    show: () => withWidget((current) => current.show(true)),
    hide: () => widget?.show(false),
    send(content) {
      if (typeof content !== 'string' || content.trim() === '')
        reportFailure('content_invalid', "Outrigger('send', text) needs a text that is not empty.");
      else withWidget((current) => current.send(content));
    },
    shutdown() {
      widget?.end();
      widget = null;
      listeners = new Map();
    },
    on(event, listener) {
      if (!widgetEvents.includes(event as WidgetEvent) || typeof listener !== 'function') {
        reportFailure(
          'listener_invalid',
          `Outrigger('on', event, listener) needs a function and one of: ${widgetEvents.join(', ')}.`,
        );
        return () => false;
      }
      const eventListeners = listeners.get(String(event)) ?? new Set();
      listeners.set(String(event), eventListeners.add(listener as Listener));
      if (event === 'ready' && isQueueDrained && widget !== null) runIsolated(listener as Listener);
      return () => eventListeners.delete(listener as Listener);
    },
  };

  const outrigger: Outrigger = (command, ...args) => {
    const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (run !== undefined) return run(...args);
    reportFailure('unknown_call', `There is no call "${command}". Use one of: ${Object.keys(commands).join(', ')}.`);
    return undefined;
  };
  outrigger.isLoaded = true;
  page.Outrigger = outrigger;
  const calls = Array.from(queuedCalls, (call) => Array.from(call) as [string]);
  const skipsAutoBoot = autoBoot === 'false' || calls.some(([command]) => command === 'boot');
  // Listeners first, so that they get the errors of the other calls.
  const listenerCalls = calls.filter(([command]) => command === 'on');
  const otherCalls = calls.filter(([command]) => command !== 'on');
  for (const call of [...listenerCalls, ...(skipsAutoBoot ? [] : [['boot'] as [string]]), ...otherCalls])
    runIsolated(() => outrigger(...call));
  // A listener may stand behind the boot in a page's snippet.
  isQueueDrained = true;
  if (widget !== null) startWidget(widget);
}

if (page.Outrigger?.isLoaded !== true && script !== null)
  start(script.src.replace(/widget\.js(?:[?#].*)?$/, ''), script.dataset, page.Outrigger?.q ?? []);
