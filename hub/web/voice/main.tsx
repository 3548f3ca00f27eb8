import { render } from 'preact';
import { background } from '../../../shared/web/background.ts';
import { chooseLocale } from '../../../shared/web/locale.ts';
import { loadLanguage } from './language.ts';
import { App } from './parts/app.tsx';
import { VoiceStore } from './state.ts';
import { VoiceSession } from './voice-session.ts';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const isSupported = () => 'AudioContext' in window && 'WebSocket' in window;

async function start(root: Element): Promise<void> {
  const preferred = navigator.languages;
  const language = await loadLanguage(chooseLocale(null, preferred), preferred);
  document.documentElement.lang = language.locale;
  document.documentElement.dir = language.direction;
  document.title = language.words.title;
  const store = new VoiceStore({
    language,
    signedInUser: null,
    problem: isSupported() ? null : 'unsupported',
    connection: 'connecting',
    microphone: 'closed',
    microphoneProblem: null,
    notice: null,
    isHandsFree: false,
    isListening: false,
    isAwaitingReply: false,
    isPlaying: false,
    isSoundOn: true,
    turns: [],
    spokenLanguage: '',
    voice: '',
    microphones: [],
    speakers: [],
    microphoneId: '',
    speakerId: '',
  });
  const processorUrl = new URL(document.documentElement.dataset['capture'] ?? '', document.baseURI).href;
  const session = new VoiceSession({ store, processorUrl });
  render(<App session={session} store={store} />, root);
  if (isSupported()) await session.start();
}

const rootElement = document.getElementById('voice');
if (rootElement === null) throw new Error('The page has no element with the id "voice".');
background(start(rootElement));
