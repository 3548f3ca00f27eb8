import { render } from 'preact';
import { background } from '../../../shared/web/background.ts';
import { address } from './address.ts';
import { Chat } from './chat.ts';
import { findHost } from './host.ts';
import { inEnglish } from './language.ts';
import { App } from './parts/app.tsx';
import { openSharedSession } from './shared-session.ts';
import { Store } from './state.ts';
import { openSessionStorage, TabStorage } from './tab-storage.ts';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const rootElement = document.getElementById('chat');
if (rootElement === null) throw new Error('The page has no element with the id "chat".');

const store = new Store({
  phase: 'loading',
  problem: 'unreachable',
  language: inEnglish(address.languages),
  title: document.title,
  settings: null,
  conversation: null,
  isLoaded: false,
  chunks: [],
  hasOlder: false,
  outgoing: [],
  isConnected: true,
  typing: null,
  partial: '',
  unread: 0,
  draft: '',
  uploads: [],
  isEmbedded: address.isEmbedded,
});
document.documentElement.classList.toggle('embedded', address.isEmbedded);

async function start(root: Element): Promise<void> {
  const isFramed = address.isEmbedded && window.parent !== window;
  const origins = (document.documentElement.dataset['origins'] ?? '').split(' ');
  const host = isFramed ? await findHost(origins) : null;
  const chat = new Chat({
    address,
    store,
    storage: new TabStorage(
      openSessionStorage(),
      address.siteKey,
      host?.boot.visit ?? 'page',
      host === null ? null : { saved: host.boot.kept, save: (values) => host.post({ type: 'keep', kept: values }) },
    ),
    token: host === null ? address.linkToken : host.boot.token,
    postToHost: (message) => host?.post(message),
    sharedSession:
      host === null ? null : openSharedSession(`${address.siteKey}.${host.boot.visit}`, host.boot.mayShare),
  });
  render(<App chat={chat} store={store} />, root);
  host?.listen((message) => {
    if (message.type === 'shown') {
      const takesFocus = message.isShown && message.takeFocus === true;
      chat.setShown(message.isShown, takesFocus);
      if (takesFocus) document.querySelector<HTMLElement>('[data-first]')?.focus();
    } else if (message.type === 'send') chat.sendText(message.content);
    else if (message.type === 'token') background(chat.renewToken(message.token));
    else {
      chat.wipe();
      host.post({ type: 'wiped' });
    }
  });
  await chat.start();
}

background(start(rootElement));
