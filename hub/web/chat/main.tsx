import { render } from 'preact';
import { address } from './address.ts';
import { Chat } from './chat.ts';
import { findHost } from './host.ts';
import { Kept, tabStorage } from './kept.ts';
import { inEnglish } from './language.ts';
import { App } from './parts/app.tsx';
import { shareSessions } from './shared-session.ts';
import { Store } from './state.ts';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const place = document.getElementById('chat');
if (place === null) throw new Error('The page has no place for the chat.');

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
    kept: new Kept(
      tabStorage(),
      address.siteKey,
      host?.boot.visit ?? 'page',
      host === null ? null : { kept: host.boot.kept, keep: (kept) => host.say({ type: 'keep', kept }) },
    ),
    token: host === null ? address.linkToken : host.boot.token,
    tellHost: (message) => host?.say(message),
    shared: host === null ? null : shareSessions(`${address.siteKey}.${host.boot.visit}`, host.boot.mayShare),
  });
  render(<App chat={chat} store={store} />, root);
  host?.listen((message) => {
    if (message.type === 'shown') {
      const takesFocus = message.isShown && message.takeFocus === true;
      chat.setShown(message.isShown, takesFocus);
      if (takesFocus) document.querySelector<HTMLElement>('[data-first]')?.focus();
    } else if (message.type === 'send') chat.sendText(message.content);
    else if (message.type === 'token') void chat.renewToken(message.token);
    else {
      chat.wipe();
      host.say({ type: 'wiped' });
    }
  });
  await chat.start();
}

void start(place);
