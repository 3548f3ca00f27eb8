import { ControlServer } from '../../node-agent/runtime/control/server.ts';
import type { ControlConnection, ControlHandlers } from '../../node-agent/runtime/control/server.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { CompanionStandIn } from '../fixtures/companion-stand-in.ts';

/** A companion of a test on a data folder, to which the app attaches. The test sets its state. */
export interface OwnerCompanion extends AsyncDisposable {
  /** Changes the state and sends it to the listeners. */
  update(change: (state: CompanionState) => void): void;
}

export async function startOwnerCompanion(dataFolder: string): Promise<OwnerCompanion> {
  const standIn = new CompanionStandIn();
  const listeners = new Set<ControlConnection>();
  const refuse = () => Promise.reject(new Error('this companion only shows its state'));
  const handlers: ControlHandlers = {
    state: async () => standIn.current(),
    subscribe: async (_params, connection) => {
      listeners.add(connection);
      connection.signal.addEventListener('abort', () => listeners.delete(connection));
      return standIn.current();
    },
    history: async () => ({ entries: [] }),
    picture: refuse,
    change: async () => standIn.current(),
    answerPrompt: refuse,
    pair: refuse,
    moveHub: refuse,
    unpair: refuse,
    setAside: refuse,
    verifyAudit: refuse,
    setAuditAside: refuse,
    test: refuse,
  };
  const server = await ControlServer.listen(new DataFolder(dataFolder), handlers);
  return {
    update(change) {
      change(standIn.state);
      for (const listener of listeners) listener.send({ event: 'state', state: standIn.current() });
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
