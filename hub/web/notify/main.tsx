import { render } from 'preact';
import { background } from '../../../shared/web/background.ts';
import { App } from './app.tsx';
import { chooseLanguage } from './language.ts';
import { Notifications } from './notifications.ts';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

const rootElement = document.getElementById('notify');
if (rootElement === null) throw new Error('The page has no element with the id "notify".');
const language = chooseLanguage();
document.documentElement.lang = language.locale;
document.documentElement.dir = language.direction;
document.title = language.words.title;
const notifications = new Notifications();
render(<App notifications={notifications} language={language} />, rootElement);
background(notifications.load());
