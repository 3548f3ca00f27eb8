import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Facts, Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill } from '../../../ui/status.tsx';
import type { Tone } from '../../../ui/status.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { TrunkForm } from './trunk-form.tsx';

type Trunk = NonNullable<Answer<'getSipStatus'>>;

const tones: Record<Trunk['state'], Tone> = {
  registering: 'accent',
  registered: 'success',
  rejected: 'danger',
  unreachable: 'warning',
  stopped: 'danger',
};

function TrunkFacts({ trunk }: { trunk: Trunk }) {
  const words = useWords().settings.carriers;
  // Without a SIP answer, the reason is a code of the hub. Otherwise it is a text of the provider.
  const reasons: Record<string, string> = words.reasons;
  const text = trunk.lastReason === null ? null : (reasons[trunk.lastReason] ?? visibleLine(trunk.lastReason));
  const reason = [trunk.lastCode, text].filter((part) => part !== null).join(' ');
  return (
    <>
      <Facts
        rows={[
          [words.trunkState, <Pill tone={tones[trunk.state]}>{words.trunkStates[trunk.state]}</Pill>],
          [words.host, trunk.port === null ? trunk.host : `${trunk.host}:${trunk.port}`],
          [words.username, visibleLine(trunk.username)],
          [words.transport, trunk.transport.toUpperCase()],
          ...(reason === '' ? [] : [[trunk.lastCode === null ? words.reason : words.carrierSays, reason] as const]),
          ...(trunk.nextAttemptAt === null
            ? []
            : [[words.nextAttempt, <RelativeTime at={trunk.nextAttemptAt} />] as const]),
        ]}
      />
      <p className="mt-2 text-sm text-text-muted">{words.trunkStateTexts[trunk.state]}</p>
    </>
  );
}

/** The registration of the workspace at its own carrier. */
export function OwnTrunk() {
  const words = useWords().settings.carriers;
  const cache = useQueryClient();
  const [open, setOpen] = useState<'form' | 'remove' | null>(null);
  const trunk = useQuery({
    ...query('getSipStatus'),
    // No event tells of a change, and a registration takes some seconds.
    refetchInterval: ({ state }) => (state.data?.state === 'registering' ? 2_000 : 30_000),
  });
  const remove = useAction('removeOwnTrunk', {
    onDone: () => {
      reread(cache, ['getSipStatus']);
      setOpen(null);
    },
  });
  return (
    <Section title={words.ownTrunk}>
      <p className="mb-3 text-text-muted">{words.ownTrunkText}</p>
      <Loaded of={trunk}>
        {(data) => (
          <>
            {data !== null && <TrunkFacts trunk={data} />}
            <div className="mt-3 flex flex-wrap gap-2">
              <Button onClick={() => setOpen('form')}>{data === null ? words.setTrunk : words.changeTrunk}</Button>
              {data !== null && (
                <Button variant="quiet" onClick={() => setOpen('remove')}>
                  {words.remove}
                </Button>
              )}
            </div>
            {open === 'form' && <TrunkForm trunk={data} onClose={() => setOpen(null)} />}
          </>
        )}
      </Loaded>
      {open === 'remove' && (
        <Confirm
          title={words.removeTrunkTitle}
          confirm={words.remove}
          action={remove}
          onConfirm={() => remove.start()}
          onClose={() => setOpen(null)}
        >
          {words.removeTrunkText}
        </Confirm>
      )}
    </Section>
  );
}
