import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Facts, Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill } from '../../../ui/status.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';

function HostedFacts({ sip }: { sip: Answer<'getHostedSip'> }) {
  const words = useWords().settings.carriers;
  return (
    <>
      <Facts
        rows={[
          [
            words.trunkState,
            <Pill tone={sip.ready ? 'success' : sip.enabled ? 'warning' : 'neutral'}>
              {sip.ready ? words.hostedReady : sip.enabled ? words.hostedWaits : words.hostedOff}
            </Pill>,
          ],
          ...(sip.domain === null ? [] : [[words.domain, sip.domain] as const]),
          ...(sip.username === null ? [] : [[words.username, <code>{sip.username}</code>] as const]),
        ]}
      />
      {sip.enabled && sip.reason !== undefined && (
        <p className="mt-2 text-sm text-text-muted">{words.hostedReasons[sip.reason]}</p>
      )}
    </>
  );
}

/** The SIP server of the operator, as an alternative to an own trunk. */
export function HostedSip() {
  const words = useWords().settings.carriers;
  const cache = useQueryClient();
  const [asks, setAsks] = useState<'in' | 'out' | null>(null);
  const sip = useQuery(query('getHostedSip'));
  const onDone = () => {
    reread(cache, ['getHostedSip', 'getSipStatus']);
    setAsks(null);
  };
  const optIn = useAction('optIntoHostedSip', { onDone });
  const optOut = useAction('optOutOfHostedSip', { onDone });
  const credentials = optIn.data?.credentials;
  return (
    <Section title={words.hosted}>
      <p className="mb-3 text-text-muted">{words.hostedText}</p>
      <Loaded of={sip}>
        {(data) => (
          <>
            <HostedFacts sip={data} />
            <div className="mt-3">
              {data.enabled && data.reason !== 'credentials_outdated' ? (
                <Button onClick={() => setAsks('out')}>{words.optOut}</Button>
              ) : (
                <Button onClick={() => setAsks('in')}>{words.optIn}</Button>
              )}
            </div>
          </>
        )}
      </Loaded>
      {asks === 'in' && (
        <Confirm
          title={words.optInTitle}
          confirm={words.optIn}
          isDangerous={false}
          action={optIn}
          onConfirm={() => optIn.start()}
          onClose={() => setAsks(null)}
        >
          {words.optInText}
        </Confirm>
      )}
      {asks === 'out' && (
        <Confirm
          title={words.optOutTitle}
          confirm={words.optOut}
          action={optOut}
          onConfirm={() => optOut.start()}
          onClose={() => setAsks(null)}
        >
          {words.optOutText}
        </Confirm>
      )}
      {credentials !== undefined && (
        <SecretOnce
          title={words.credentials}
          label={words.password}
          secret={credentials.password}
          onClose={optIn.reset}
        >
          <p className="mt-3 text-text-muted">
            {words.username}: <code>{credentials.username}</code>
          </p>
        </SecretOnce>
      )}
    </Section>
  );
}
