import { useState } from 'react';
import type { ReactNode } from 'react';
import { useCompanionState } from './companion-context.tsx';
import { Consent, Notice } from './controls.tsx';

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a connection to the address would send the device secret unencrypted over a network. */
export const isExposed = (address: string): boolean =>
  URL.canParse(address) && new URL(address).protocol === 'http:' && !loopback.has(new URL(address).hostname);

export interface Consents {
  insecure: boolean;
  secretInFile: boolean;
  force: boolean;
}

/** The consents that the owner must give before this machine connects, with their check boxes. */
export function useConsents(needsInsecure: boolean): { given: Consents; isComplete: boolean; questions: ReactNode } {
  const keyStore = useCompanionState((state) => state.keyStore);
  const paired = useCompanionState((state) => state.paired);
  const [insecure, setInsecure] = useState(false);
  const [secretInFile, setSecretInFile] = useState(false);
  const [force, setForce] = useState(false);
  const needsFile = keyStore.name === null;
  const needsForce = paired !== null;
  return {
    given: { insecure: needsInsecure && insecure, secretInFile: needsFile && secretInFile, force: needsForce && force },
    isComplete: (!needsInsecure || insecure) && (!needsFile || secretInFile) && (!needsForce || force),
    questions: (
      <>
        {needsInsecure && (
          <Notice tone="warning" title="This connection is not encrypted">
            <p>
              The address begins with http. Anyone on the network can read all traffic and take over this machine. Use
              an https address unless this is a network that you trust.
            </p>
            <Consent isGiven={insecure} onChange={setInsecure}>
              Connect without encryption
            </Consent>
          </Notice>
        )}
        {needsForce && (
          <Notice tone="warning" title="This machine is already paired with a hub">
            <Consent isGiven={force} onChange={setForce}>
              Forget that hub and connect to this one
            </Consent>
          </Notice>
        )}
        {needsFile && (
          <Consent isGiven={secretInFile} onChange={setSecretInFile}>
            This system has no key store. Keep the secret in a file that only I can read
          </Consent>
        )}
      </>
    ),
  };
}
