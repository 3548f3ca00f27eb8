import { CSPProvider } from '@base-ui/react/csp-provider';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { CompanionProvider } from './companion-context.tsx';
import { CompanionStore } from './companion-store.ts';

const root = document.getElementById('window');
if (root === null) throw new Error('The page has no element with the id "window".');
const store = new CompanionStore(window.companion);
store.start();
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <CompanionProvider store={store}>
        <App />
      </CompanionProvider>
    </CSPProvider>
  </StrictMode>,
);
