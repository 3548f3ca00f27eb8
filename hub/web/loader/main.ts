import { Widget, widgetEvents } from './widget.ts';
import type { WidgetEvent } from './widget.ts';

/**
 * `/widget.js` defines `Outrigger(command, ...)`, which boots and controls the widget in a host's page.
 * The widget boots automatically unless the queue contains a `boot` call or the script has `data-auto-boot="false"`.
 * The script loads and stores nothing else before the visitor opens the chat, unless the visitor has a session from an
 * earlier page. A second script on the page does not create a second widget.
 */

type Listener = (detail?: unknown) => void;
interface Outrigger {
  (command: string, ...args: unknown[]): unknown;
  /** Calls that the snippet in the page queued before this script loaded. */
  q?: ArrayLike<unknown>[];
  isLoaded?: true;
}

const page = window as { Outrigger?: Outrigger };
// `document.currentScript` is null in a module.
const script = (document.currentScript ??
  document.querySelector('script[data-site-key][src*="widget.js"]')) as HTMLScriptElement | null;

function start(base: string, { siteKey = '', autoBoot }: DOMStringMap, queuedCalls: ArrayLike<unknown>[]): void {
  let widget: Widget | null = null;
  let listeners = new Map<string, Set<Listener>>();
  let isQueueDrained = false;

  /**
   * Errors of the host's callbacks are rethrown in a task of their own, so that they reach the host's error handling
   * and do not stop the widget.
   */
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

  const fail = (code: string, message: string) => {
    // Developers look in the console first. A page without an error listener shows nothing else.
    // oxlint-disable-next-line no-console
    console.error(`Outrigger: ${message}`);
    emit('error', { code, message });
  };

  /** Returns the token of the options, or null. Reports an error if the token is invalid, or missing and required. */
  const readToken = (options: unknown, isRequired = false): string | null => {
    const token = (options as { token?: unknown } | null | undefined)?.token;
    if (typeof token === 'string' && token !== '') return token;
    const isOmitted = (options ?? null) === null || (typeof options === 'object' && (token ?? '') === '');
    if (isRequired || !isOmitted)
      fail(
        'token_invalid',
        'The token must be a string. Pass { token } with the visitorToken of POST /v1/chat/sessions.',
      );
    return null;
  };

  const createWidget = (token: string | null) => {
    if (!/^wgt_./.test(siteKey)) {
      fail('site_key_invalid', `data-site-key is "${siteKey}". Set the site key of your chat; it begins with wgt_.`);
      return;
    }
    const onVisitEnded = () => {
      widget?.end(false);
      createWidget(null);
    };
    widget = new Widget({ base, siteKey, token, emit, fail, onVisitEnded });
    if (isQueueDrained) startWidget(widget);
  };
  const startWidget = (created: Widget) => {
    emit('ready');
    created.resume();
  };
  /** Runs a callback with the widget, or reports that the chat is not booted. */
  const withWidget = (run: (current: Widget) => void) => {
    if (widget === null) fail('not_booted', "The chat is not booted. Call Outrigger('boot') first.");
    else run(widget);
  };

  const commands: Record<string, (...args: unknown[]) => unknown> = {
    boot(options) {
      const token = readToken(options);
      if (widget === null) createWidget(token);
      else if (token !== widget.token) {
        // An anonymous visitor who signs in keeps the widget. Any other change of the token means another visitor, so
        // nothing of the first visitor may remain.
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
        fail('content_invalid', "Outrigger('send', text) needs a text that is not empty.");
      else withWidget((current) => current.send(content));
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
      const eventListeners = listeners.get(String(event)) ?? new Set();
      listeners.set(String(event), eventListeners.add(listener as Listener));
      if (event === 'ready' && isQueueDrained && widget !== null) runIsolated(listener as Listener);
      return () => eventListeners.delete(listener as Listener);
    },
  };

  const outrigger: Outrigger = (command, ...args) => {
    const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (run !== undefined) return run(...args);
    fail('unknown_call', `There is no call "${command}". Use one of: ${Object.keys(commands).join(', ')}.`);
    return undefined;
  };
  outrigger.isLoaded = true;
  page.Outrigger = outrigger;
  const calls = Array.from(queuedCalls, (call) => Array.from(call) as [string]);
  const skipsAutoBoot = autoBoot === 'false' || calls.some(([command]) => command === 'boot');
  // Listeners are registered first, so that they receive the errors of the other calls.
  const listenerCalls = calls.filter(([command]) => command === 'on');
  const otherCalls = calls.filter(([command]) => command !== 'on');
  for (const call of [...listenerCalls, ...(skipsAutoBoot ? [] : [['boot'] as [string]]), ...otherCalls])
    runIsolated(() => outrigger(...call));
  // The snippet of a page may add a `ready` listener after the `boot` call, so `ready` is emitted only now.
  isQueueDrained = true;
  if (widget !== null) startWidget(widget);
}

if (page.Outrigger?.isLoaded !== true && script !== null)
  start(script.src.replace(/widget\.js(?:[?#].*)?$/, ''), script.dataset, page.Outrigger?.q ?? []);
