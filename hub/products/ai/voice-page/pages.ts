import { builtFiles } from '../../../platform/http/pages/built-files.ts';
import { microphonePage } from '../../../platform/http/pages/microphone-page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';

/**
 * The page on which a person speaks with the AI agent. It is the same for everybody: who is signed in it finds out by the cookie, which its script can't read
 * and the browser adds to what it asks, the WebSocket included.
 */
export const voicePages: Page[] = [
  {
    method: 'GET',
    path: '/voice',
    menu: 'Speak with the AI agent',
    limit: 'page',
    answer: async ({ baseUrl }) => microphonePage({ baseUrl, name: 'voice', title: 'Voice', ...builtFiles().voice }),
  },
];
