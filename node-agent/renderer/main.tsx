import { CSPProvider } from '@base-ui/react/csp-provider';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { CompanionProvider } from './companion-context.tsx';
import { CompanionStore } from './companion-store.ts';

const place = document.getElementById('window');
if (place === null) throw new Error('The page has no place for the window.');
const store = new CompanionStore(window.companion);
store.start();
createRoot(place).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <CompanionProvider store={store}>
        <App />
      </CompanionProvider>
    </CSPProvider>
  </StrictMode>,
);
