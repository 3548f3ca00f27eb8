/**
 * Service worker of the dashboard: shows the notifications that the hub sends, and opens their pages. It handles no
 * requests of pages.
 */

interface PushedEvent extends Event {
  data: { json(): unknown } | null;
  waitUntil(done: Promise<unknown>): void;
}
interface NotificationClick extends Event {
  notification: Notification;
  waitUntil(done: Promise<unknown>): void;
}
interface WindowClient {
  url: string;
  focus(): Promise<unknown>;
}
interface ServiceWorkerScope {
  registration: { showNotification(title: string, options: NotificationOptions): Promise<void> };
  clients: {
    matchAll(options: { type: 'window'; includeUncontrolled: boolean }): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: 'push', listener: (event: PushedEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: NotificationClick) => void): void;
}
const scope = globalThis as unknown as ServiceWorkerScope;

const home = '/app/';

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

const textOf = (value: unknown, otherwise: string) => (typeof value === 'string' && value !== '' ? value : otherwise);

scope.addEventListener('push', (event) => {
  const { title, workflowName, path } = read(event);
  const url = pageOf(path);
  event.waitUntil(
    // A second message about the same approval replaces the first.
    scope.registration.showNotification(textOf(title, 'Outrigger'), {
      body: textOf(workflowName, ''),
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
