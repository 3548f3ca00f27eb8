import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useNow } from '../../app/now.ts';
import { useIsAdmin, useSession } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/layout.tsx';
import { PairDialog } from '../start/pair-dialog.tsx';
import { StartCard } from '../start/start-card.tsx';
import { useProducts } from './data.ts';
import { Needs } from './needs.tsx';
import { NextFires } from './next-fires.tsx';
import { Pictures } from './pictures.tsx';
import { RunsChart } from './runs-chart.tsx';
import { Tiles } from './tiles.tsx';
import { useNeeds } from './use-needs.ts';
import { useRereadAfter } from './use-reread-after.ts';

function useGreeting(): string {
  const { words, format } = useLanguage();
  const { displayName } = useSession().user;
  const texts = words.home;
  const hour = new Date(useNow()).getHours();
  const greeting = hour < 12 ? texts.morning : hour < 18 ? texts.afternoon : texts.evening;
  return displayName === null ? greeting : format(texts.greeting, { greeting, name: visibleLine(displayName) });
}

/** Whether the first minutes are shown: for a workspace without a node or a run that succeeded, until it is hidden. */
function useStart(isEnabled: boolean): { isShown: boolean; dismiss: () => void } {
  const key = `outrigger.start-hidden.${useSession().tenantId}`;
  const [isHidden, setHidden] = useState(() => localStorage.getItem(key) !== null);
  const [isStarted, setStarted] = useState(false);
  const { data } = useQuery({ ...query('getAutomationOnboarding'), enabled: isEnabled && !isHidden });
  const isNew = data !== undefined && (data.counts.nodes === 0 || !data.counts.runsSucceeded);
  // It stays after the first run succeeded, so that the result can be seen.
  useEffect(() => {
    if (isNew) setStarted(true);
  }, [isNew]);
  return {
    isShown: !isHidden && (isNew || isStarted),
    dismiss: () => {
      setHidden(true);
      try {
        localStorage.setItem(key, '1');
      } catch {
        // The storage of the browser is full or off. It is shown again at the next visit.
      }
    },
  };
}

/** What needs a person, and what happened. */
export function HomePage() {
  const { words, format } = useLanguage();
  const texts = words.home;
  const isAdmin = useIsAdmin();
  const products = useProducts();
  const { hasAutomations } = products;
  const needs = useNeeds(products);
  const start = useStart(hasAutomations);
  const [isPairing, setPairing] = useState(false);
  useRereadAfter('run', [['listAutomationRuns'], ['getAutomationSlo']]);
  useRereadAfter('node', [['getAutomationSlo']]);
  return (
    <Page
      title={useGreeting()}
      documentTitle={words.common.home}
      meta={
        needs.isLoading || needs.error !== null
          ? '\u00A0'
          : needs.count === 0
            ? // The first steps below do need the reader.
              start.isShown
              ? undefined
              : texts.needsNothing
            : needs.count === 1
              ? texts.needsOne
              : format(texts.needsMany, { count: needs.count })
      }
      actions={
        hasAutomations && isAdmin && !start.isShown ? (
          <Button onClick={() => setPairing(true)}>{texts.pair}</Button>
        ) : undefined
      }
    >
      {start.isShown && <StartCard onDismiss={start.dismiss} />}
      <Tiles {...products} />
      <div className="grid items-start gap-3.5 lg:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]">
        <div className="flex min-w-0 flex-col gap-3.5 max-lg:order-2">
          {hasAutomations && <RunsChart />}
          {hasAutomations && <Pictures />}
        </div>
        <div className="flex min-w-0 flex-col gap-3.5">
          <Needs needs={needs} />
          {hasAutomations && <NextFires />}
        </div>
      </div>
      {isPairing && <PairDialog onClose={() => setPairing(false)} />}
    </Page>
  );
}
