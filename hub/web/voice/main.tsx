import { render } from 'preact';
import { chooseLocale } from '../../../shared/web/locale.ts';
import { loadLanguage } from './language.ts';
import { App } from './parts/app.tsx';
import { VoiceStore } from './state.ts';
import { Talk } from './talk.ts';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const canTalk = () => 'AudioContext' in window && 'WebSocket' in window;

async function start(root: Element): Promise<void> {
  const wanted = navigator.languages;
  const language = await loadLanguage(chooseLocale(null, wanted), wanted);
  document.documentElement.lang = language.locale;
  document.documentElement.dir = language.direction;
  document.title = language.words.title;
  const store = new VoiceStore({
    language,
    person: null,
    problem: canTalk() ? null : 'unsupported',
    connection: 'connecting',
    microphone: 'closed',
    microphoneProblem: null,
    notice: null,
    isHandsFree: false,
    isListening: false,
    isAwaiting: false,
    isPlaying: false,
    isSoundOn: true,
    turns: [],
    talkLanguage: '',
    voice: '',
    microphones: [],
    speakers: [],
    microphoneId: '',
    speakerId: '',
  });
  const processorUrl = new URL(document.documentElement.dataset['capture'] ?? '', document.baseURI).href;
  const talk = new Talk({ store, processorUrl });
  render(<App talk={talk} store={store} />, root);
  if (canTalk()) await talk.start();
}

const place = document.getElementById('voice');
if (place === null) throw new Error('The page has no place for the talk.');
void start(place);
