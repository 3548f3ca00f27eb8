import { contextBridge, ipcRenderer } from 'electron';
import type { CompanionBridge, WindowAnswer, WindowEvent } from '../../shared/companion/app.ts';

// The complete interface of the page. The main process validates calls and events.
const bridge: CompanionBridge = {
  call: (method, params) => ipcRenderer.invoke('companion:call', { method, params }) as Promise<WindowAnswer>,
  onEvent: (listener) => {
    const handler = (_event: unknown, event: WindowEvent) => listener(event);
    ipcRenderer.on('companion:event', handler);
    return () => {
      ipcRenderer.off('companion:event', handler);
    };
  },
};

contextBridge.exposeInMainWorld('companion', bridge);
