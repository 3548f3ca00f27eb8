import library from '@homebridge/dbus-native';
import { until } from '../fixtures/until.ts';

/** The used part of the API of the library. Its type declarations are incomplete. */
interface Bus {
  connection: { end(): void; on(event: 'message', listener: (message: BusMessage) => void): void };
  invoke(message: BusMessage, answer: (error: { message: string } | null, ...values: unknown[]) => void): void;
  requestName(name: string, flags: number, answer: (error: unknown) => void): void;
  exportInterface(implementation: object, path: string, description: object): void;
  addMatch(rule: string, answer: (error: unknown) => void): void;
}
interface BusMessage {
  destination?: string;
  path?: string;
  interface?: string;
  member?: string;
  sender?: string;
  signature?: string;
  body?: unknown[];
}
const { createClient } = library as unknown as { createClient(options: { busAddress: string }): Bus };

/** An item of the menu of a tray icon. */
export interface MenuItem {
  id: number;
  label: string;
  isEnabled: boolean;
}

/** The tray of a desktop by the StatusNotifierItem specification. */
export interface TrayHost extends Disposable {
  /** Waits for the icon of the app. */
  item(): Promise<void>;
  count(): number;
  toolTip(): Promise<string>;
  /** Identifies the picture of the icon. */
  picture(): Promise<string>;
  menu(): Promise<MenuItem[]>;
  click(label: string): Promise<void>;
  /** Clicks an item of a menu that was opened before. */
  clickItem(item: MenuItem): Promise<void>;
  /** Clicks the icon. */
  activate(): Promise<void>;
}

const watcher = 'org.kde.StatusNotifierWatcher';
const item = 'org.kde.StatusNotifierItem';
const menuInterface = 'com.canonical.dbusmenu';

/** A variant as the library returns it: its signature and its values. */
type Variant = [unknown, [unknown]];
const valueOf = (variant: unknown) => (variant as Variant)[1][0];

export async function startTrayHost(busAddress: string): Promise<TrayHost> {
  const bus = createClient({ busAddress });
  const items: { service: string; path: string }[] = [];
  const call = (message: BusMessage) =>
    new Promise<unknown[]>((done, fail) =>
      bus.invoke(message, (error, ...values) => (error === null ? done(values) : fail(new Error(error.message)))),
    );
  const implementation = {
    IsStatusNotifierHostRegistered: true,
    RegisteredStatusNotifierItems: [] as string[],
    ProtocolVersion: 0,
    RegisterStatusNotifierItem(name: string, message: BusMessage) {
      items.push(
        name.startsWith('/')
          ? { service: message.sender as string, path: name }
          : { service: name, path: '/StatusNotifierItem' },
      );
    },
    RegisterStatusNotifierHost() {
      return undefined;
    },
  };
  bus.exportInterface(implementation, '/StatusNotifierWatcher', {
    name: watcher,
    methods: { RegisterStatusNotifierItem: ['s', ''], RegisterStatusNotifierHost: ['s', ''] },
    properties: { IsStatusNotifierHostRegistered: 'b', RegisteredStatusNotifierItems: 'as', ProtocolVersion: 'i' },
    signals: {},
  });
  await new Promise<void>((done, fail) =>
    bus.requestName(watcher, 0, (error) => (error ? fail(new Error('another program owns the tray')) : done())),
  );
  const there = () => {
    const [first] = items.slice(-1);
    if (first === undefined) throw new Error('nothing is in the tray');
    return first;
  };
  const property = async (name: string) => {
    const { service, path } = there();
    const [value] = await call({
      destination: service,
      path,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [item, name],
    });
    return valueOf(value);
  };
  const menuPath = async () => (await property('Menu')) as string;
  const menu = async (): Promise<MenuItem[]> => {
    const [, layout] = await call({
      destination: there().service,
      path: await menuPath(),
      interface: menuInterface,
      member: 'GetLayout',
      signature: 'iias',
      body: [0, -1, []],
    });
    const [, , children] = layout as [number, unknown, unknown[]];
    return children.map((child) => {
      const [id, properties] = valueOf(child) as [number, [string, Variant][]];
      const named = new Map(properties.map(([name, value]) => [name, valueOf(value)]));
      return {
        id,
        label: String(named.get('label') ?? '').replaceAll('_', ''),
        isEnabled: named.get('enabled') !== false,
      };
    });
  };
  const clickItem = async ({ id }: MenuItem) => {
    await call({
      destination: there().service,
      path: await menuPath(),
      interface: menuInterface,
      member: 'Event',
      signature: 'isvu',
      body: [id, 'clicked', ['i', 0], 0],
    });
  };
  return {
    count: () => items.length,
    async item() {
      await until(
        () => items.length > 0,
        () => 'nothing came into the tray',
      );
    },
    toolTip: async () => JSON.stringify(await property('ToolTip')),
    picture: async () => JSON.stringify(await property('IconPixmap')),
    menu,
    async click(label) {
      let menuItem: MenuItem | undefined;
      await until(
        async () => (menuItem = (await menu()).find((one) => one.label === label)) !== undefined,
        () => `the menu has no "${label}"`,
      );
      await clickItem(menuItem as unknown as MenuItem);
    },
    clickItem,
    async activate() {
      const { service, path } = there();
      await call({ destination: service, path, interface: item, member: 'Activate', signature: 'ii', body: [0, 0] });
    },
    [Symbol.dispose]() {
      bus.connection.end();
    },
  };
}
