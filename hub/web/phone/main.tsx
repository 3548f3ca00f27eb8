import { render } from 'preact';
import { background } from '../../../shared/web/background.ts';
import { chooseLocale } from '../../../shared/web/locale.ts';
import { loadLanguage } from './language.ts';
import { App } from './parts/app.tsx';
import { Phone } from './phone.ts';
import { PhoneStore } from './state.ts';
// oxlint-disable-next-line import/no-unassigned-import
import '../voice/style.css';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const canCall = () => 'RTCPeerConnection' in window && 'WebSocket' in window;

async function start(root: Element): Promise<void> {
  const preferred = navigator.languages;
  const language = await loadLanguage(chooseLocale(null, preferred), preferred);
  document.documentElement.lang = language.locale;
  document.documentElement.dir = language.direction;
  const store = new PhoneStore({
    language,
    signedInUser: null,
    account: null,
    problem: canCall() ? null : 'unsupported',
    connection: 'connecting',
    call: null,
    last: null,
    missed: [],
    colleagues: [],
    records: null,
    dialled: '',
    isDialledInvalid: false,
    microphoneProblem: null,
    isSoundBlocked: false,
    microphones: [],
    speakers: [],
    microphoneId: '',
    speakerId: '',
  });
  const phone = new Phone(store);
  render(<App phone={phone} store={store} />, root);
  if (canCall()) await phone.start();
}

const root = document.getElementById('phone');
if (root === null) throw new Error('The page has no element with the id "phone".');
background(start(root));
