import { frameMark } from './frame-protocol.ts';
import type { FrameBoot, MessageFromFrame, MessageToFrame } from './frame-protocol.ts';
import { style } from './style.ts';
import { VisitStorage } from './visit-storage.ts';
import { launcherWords } from './words.ts';

/** Events that a host's page can listen to. */
export const widgetEvents = ['ready', 'unread', 'message', 'open', 'close', 'error', 'tokenExpired'] as const;
export type WidgetEvent = (typeof widgetEvents)[number];

export interface WidgetOptions {
  /** URL of the hub, with a trailing slash. */
  base: string;
  siteKey: string;
  token: string | null;
  emit: (event: WidgetEvent, detail?: unknown) => void;
  /** Reports an error to the host's `error` listeners and to the console. */
  fail: (code: string, message: string) => void;
  /** Another page of this site ended the visit, or the visitor signed in on that page. */
  onVisitEnded: () => void;
}

/** A loaded frame that does not post `here` within this time was refused by the hub or by the host's policy. */
const handshakeTimeoutMs = 5_000;
/** A frame that does not load within this time also counts as refused. */
const loadTimeoutMs = 20_000;
/** Time that the frame has to delete its stored values. */
const wipeTimeoutMs = 1_000;

const svgNamespace = 'http://www.w3.org/2000/svg';

function icon(className: string, path: string): SVGSVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', className);
  svg.setAttribute('aria-hidden', 'true');
  const pathElement = document.createElementNS(svgNamespace, 'path');
  pathElement.setAttribute('d', path);
  svg.append(pathElement);
  return svg;
}

/**
 * Shows the launcher, and loads the chat in a frame once the visitor opens the chat or an earlier page's session must
 * be checked.
 */
export class Widget {
  readonly #options: WidgetOptions;
  readonly #origin: string;
  readonly #host = document.createElement('outrigger-chat');
  readonly #launcher = document.createElement('button');
  readonly #badge = document.createElement('b');
  /** Suffix of the launcher's label, such as " (2 new messages)". */
  #unreadSuffix = '';
  readonly #words = launcherWords([document.documentElement.lang, ...navigator.languages].filter(Boolean));
  readonly #ended = new AbortController();
  #frame: HTMLIFrameElement | null = null;
  /** Covers the frame until the frame posts `here`, because browsers show an error page in a refused frame. */
  readonly #cover = document.createElement('p');
  #port: MessagePort | null = null;
  #pendingMessages: MessageToFrame[] = [];
  #timer = 0;
  #isOpen = false;
  #token: string | null;
  /** Whether the chat may take the focus once its frame has loaded. */
  #takesFocus = false;
  readonly #storage: VisitStorage;

  constructor(options: WidgetOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#storage = new VisitStorage(options.siteKey);
    this.#origin = new URL(options.base).origin;
    const root = this.#host.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    this.#launcher.type = 'button';
    this.#badge.hidden = true;
    this.#cover.role = 'status';
    this.#launcher.append(
      icon('c', 'M21 11.5a8.4 8.4 0 0 1-12.3 7.5L3 21l2-5.6A8.4 8.4 0 1 1 21 11.5Z'),
      icon('x', 'M6 6l12 12M18 6 6 18'),
      this.#badge,
    );
    this.#updateLabel();
    root.append(this.#launcher);
    this.#launcher.addEventListener('click', () => (this.#isOpen ? this.close() : this.open()));
    const { signal } = this.#ended;
    addEventListener('message', (event) => this.#onWindowMessage(event), { signal });
    addEventListener(
      'storage',
      ({ key, newValue }) => {
        if (key !== this.#storage.key) return;
        const hasSignedInElsewhere = this.#frame !== null && this.#token === null && this.#storage.visit.isKnown;
        if (newValue === null || hasSignedInElsewhere) options.onVisitEnded();
        else this.resume();
      },
      { signal },
    );
    // The element is appended beside the body: sites that navigate without a page load replace the body.
    const attach = () => document.documentElement.append(this.#host);
    if (document.body === null) addEventListener('DOMContentLoaded', attach, { signal, once: true });
    else attach();
  }

  /** The token from `boot` or the latest `renew` call. */
  get token(): string | null {
    return this.#token;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Continues after a page load: restores the open chat, or checks in a hidden frame for unread messages. */
  resume(): void {
    const { until, isKnown } = this.#storage.visit;
    // The session of an identified visitor needs the host's token, which a later call may pass.
    if (this.#frame !== null || (isKnown && this.#token === null)) return;
    if (this.#storage.isOpen) this.open(false);
    else if (until > Date.now()) {
      const check = () => this.#frame ?? this.#createFrame();
      if (document.readyState === 'complete') check();
      else addEventListener('load', check, { signal: this.#ended.signal, once: true });
    }
  }

  /** @param takeFocus whether the chat takes the focus; false when the chat was open before the page loaded. */
  open(takeFocus = true): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#takesFocus = takeFocus;
    this.#storage.isOpen = true;
    if (this.#cover.textContent !== '') this.#removeFrame();
    if (this.#frame === null) this.#createFrame();
    this.#launcher.classList.add('open');
    this.#updateLabel();
    if (takeFocus) this.#frame?.focus();
    this.#post({ type: 'shown', isShown: true, takeFocus });
    this.#options.emit('open');
  }

  /** @param takeFocus whether the launcher takes the focus; false when the host's page closed the chat. */
  close(takeFocus = true): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#storage.isOpen = false;
    this.#launcher.classList.remove('open');
    this.#updateLabel();
    this.#post({ type: 'shown', isShown: false });
    if (takeFocus) this.#launcher.focus();
    this.#options.emit('close');
  }

  /** Shows or hides the launcher. The chat can be opened without it. */
  show(isShown: boolean): void {
    if (!isShown) this.close(false);
    this.#launcher.hidden = !isShown;
  }

  send(content: string): void {
    if (this.#frame === null) this.open();
    this.#post({ type: 'send', content });
  }

  /** Sets a newer token of the same visitor. */
  renew(token: string): void {
    this.#token = token;
    if (this.#frame === null) this.resume();
    else this.#post({ type: 'token', token });
  }

  /**
   * Removes the widget, the visit and the frame. The frame is removed once it has deleted its stored values, or after
   * `wipeTimeoutMs`.
   * @param endsVisit false when another page has already removed the visit; a new visit may have started since.
   */
  end(endsVisit = true): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#storage.clear(endsVisit);
    const port = this.#port;
    const remove = () => {
      clearTimeout(this.#timer);
      port?.close();
      this.#host.remove();
    };
    if (port === null) {
      remove();
      return;
    }
    this.#launcher.remove();
    this.#host.hidden = true;
    port.addEventListener('message', ({ data }: MessageEvent<MessageFromFrame>) => data.type === 'wiped' && remove());
    this.#timer = setTimeout(remove, wipeTimeoutMs);
    port.postMessage({ type: 'wipe' } satisfies MessageToFrame);
  }

  #updateLabel(): void {
    // The label replaces the text of the badge for screen readers.
    this.#launcher.ariaLabel = this.#isOpen ? this.#words.close : this.#words.open + this.#unreadSuffix;
    this.#launcher.ariaExpanded = String(this.#isOpen);
  }

  #createFrame(): void {
    const frame = document.createElement('iframe');
    frame.title = this.#words.frame;
    frame.referrerPolicy = 'no-referrer';
    const { lang } = document.documentElement;
    const query = new URLSearchParams({ siteKey: this.#options.siteKey, embed: '1', ...(lang === '' ? {} : { lang }) });
    frame.src = `${this.#options.base}chat?${query.toString()}`;
    this.#frame = frame;
    this.#launcher.after(frame, this.#cover);
    this.#startTimeout(loadTimeoutMs);
    frame.addEventListener('load', () => this.#cover.isConnected && this.#startTimeout(handshakeTimeoutMs));
  }

  #startTimeout(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#cover.textContent = this.#words.refused;
      if (this.#frame !== null) this.#frame.inert = true;
      this.#options.fail(
        'frame_refused',
        `The chat did not open in this page. Check data-site-key, "${this.#options.siteKey}". If needed, add ${location.origin} to allowedOrigins in the settings of the chat, and ${this.#origin} to frame-src in the content security policy of this page.`,
      );
    }, delayMs);
  }

  #removeFrame(): void {
    this.#frame?.remove();
    this.#frame = null;
    this.#cover.remove();
    this.#cover.textContent = '';
  }

  #post(message: MessageToFrame): void {
    if (this.#port === null) this.#pendingMessages.push(message);
    // A port has one receiver; only window messages need a target origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    else this.#port.postMessage(message);
  }

  #onWindowMessage({ source, origin, data }: MessageEvent<{ mark?: unknown; type?: unknown } | null>): void {
    const frameWindow = this.#frame?.contentWindow ?? null;
    if (frameWindow === null || source !== frameWindow || origin !== this.#origin) return;
    if (data?.mark !== frameMark || data.type !== 'here') return;
    clearTimeout(this.#timer);
    this.#cover.remove();
    this.#cover.textContent = '';
    if (this.#frame !== null) this.#frame.inert = false;
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.addEventListener('message', (event: MessageEvent<MessageFromFrame>) => this.#onFrameMessage(event.data));
    port1.start();
    const { visit } = this.#storage;
    this.#storage.visit = visit;
    const boot: FrameBoot = {
      mark: frameMark,
      type: 'boot',
      token: this.#token,
      visit: visit.id,
      mayShare: visit.until > Date.now(),
      kept: this.#storage.frameData,
    };
    frameWindow.postMessage(boot, this.#origin, [port2]);
    this.#launcher.classList.add('here');
    // Only queued `send` messages are posted: a frame that loads again needs the current state, not its earlier
    // changes.
    const pendingSends = this.#pendingMessages.filter(({ type }) => type === 'send');
    this.#pendingMessages = [];
    const shown = { type: 'shown' as const, isShown: this.#isOpen, takeFocus: this.#takesFocus };
    for (const message of [shown, ...pendingSends]) port1.postMessage(message);
  }

  #onFrameMessage(message: MessageFromFrame): void {
    const { emit } = this.#options;
    if (this.#ended.signal.aborted) return;
    switch (message.type) {
      case 'look':
        this.#launcher.style.setProperty('--brand', message.colour);
        this.#launcher.style.setProperty('--ink', message.ink);
        if (this.#frame !== null) this.#frame.title = message.title;
        break;
      case 'unread':
        this.#badge.hidden = message.count === 0;
        this.#badge.textContent = message.count > 99 ? '99+' : String(message.count);
        this.#unreadSuffix = message.count === 0 ? '' : ` (${message.words})`;
        this.#updateLabel();
        emit('unread', message.count);
        break;
      case 'message':
        emit('message', message.message);
        break;
      case 'close':
        this.close();
        break;
      case 'session':
        this.#storage.visit = { ...message, id: this.#storage.visit.id };
        break;
      case 'keep':
        this.#storage.frameData = message.kept;
        break;
      case 'error':
        this.#options.fail(message.code, message.message);
        break;
      case 'token-expired':
        emit('tokenExpired');
        break;
      default:
    }
  }
}
