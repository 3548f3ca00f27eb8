/**
 * Service worker of the dashboard: shows the notifications that the hub sends, opens their pages, and reports a new
 * endpoint of the browser to the hub. It handles no requests of pages.
 */

interface PushedEvent extends Event {
  data: { json(): unknown } | null;
  waitUntil(done: Promise<unknown>): void;
}
interface NotificationClick extends Event {
  notification: Notification;
  waitUntil(done: Promise<unknown>): void;
}
interface SubscriptionChange extends Event {
  /** Not every browser names the old and the new subscription. */
  oldSubscription?: PushSubscription | null;
  newSubscription?: PushSubscription | null;
  waitUntil(done: Promise<unknown>): void;
}
interface WindowClient {
  url: string;
  focus(): Promise<unknown>;
}
interface ServiceWorkerScope {
  registration: {
    pushManager: PushManager;
    showNotification(title: string, options: NotificationOptions): Promise<void>;
  };
  clients: {
    matchAll(options: { type: 'window'; includeUncontrolled: boolean }): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: 'push', listener: (event: PushedEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: NotificationClick) => void): void;
  addEventListener(type: 'pushsubscriptionchange', listener: (event: SubscriptionChange) => void): void;
}
const scope = globalThis as unknown as ServiceWorkerScope;

const home = '/app/';

/**
 * Text of a notification, in the languages of the dashboard. It does not describe the approval, because the user can be
 * signed out.
 */
const texts = {
  en: 'An approval waits for your decision.',
  de: 'Eine Freigabe wartet auf Ihre Entscheidung.',
  ar: 'موافقة تنتظر قرارك.',
};
const isTranslated = (name: unknown): name is keyof typeof texts =>
  typeof name === 'string' && Object.hasOwn(texts, name);

/** The language that the user chose; otherwise that of the browser; otherwise English. */
const languageOf = (chosen: unknown) =>
  [chosen, ...navigator.languages.map((tag) => tag.split('-', 1)[0])].find(isTranslated) ?? 'en';

/** The address of a page of the dashboard; the start page for every other address. */
function pageOf(path: unknown): string {
  try {
    const url = new URL(String(path), location.origin);
    if (url.origin === location.origin && url.pathname.startsWith(home)) return url.href;
  } catch {
    // The path is not valid.
  }
  return new URL(home, location.origin).href;
}

function read(event: PushedEvent): Record<string, unknown> {
  try {
    return (event.data?.json() ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

scope.addEventListener('push', (event) => {
  const { path, language } = read(event);
  const url = pageOf(path);
  const lang = languageOf(language);
  event.waitUntil(
    // A second message about the same approval replaces the first.
    scope.registration.showNotification('Outrigger', {
      body: texts[lang],
      lang,
      dir: lang === 'ar' ? 'rtl' : 'ltr',
      tag: url,
      data: url,
    }),
  );
});

scope.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const url = pageOf(event.notification.data);
  event.waitUntil(
    scope.clients.matchAll({ type: 'window', includeUncontrolled: true }).then((windows) => {
      const open = windows.find((each) => each.url.split('#', 1)[0] === url);
      return open === undefined ? scope.clients.openWindow(url) : open.focus();
    }),
  );
});

/**
 * Subscribes again and reports the new endpoint. Without a session, the dashboard reports it at the next visit; so it
 * does when the browser does not name the old subscription.
 */
async function replaceSubscription({ oldSubscription, newSubscription }: SubscriptionChange): Promise<void> {
  const { pushManager } = scope.registration;
  const current = newSubscription ?? (await pushManager.getSubscription());
  const applicationServerKey = oldSubscription?.options.applicationServerKey;
  if (oldSubscription === undefined || oldSubscription === null || applicationServerKey === undefined) return;
  const subscription = current ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }));
  const { endpoint, keys } = subscription.toJSON();
  const { status } = await fetch('/auth/me/push-subscriptions/renew', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ endpoint, keys, previousEndpoint: oldSubscription.endpoint }),
  });
  // The user has ended the notifications of this browser, or another user is signed in.
  if (status === 404) await subscription.unsubscribe();
}

scope.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(replaceSubscription(event)));
