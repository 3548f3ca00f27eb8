import { useState } from 'react';
import type { RunSummary } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { BulkResults } from './bulk-results.tsx';
import type { RunFilters } from './filters.ts';
import { useCountText } from './run-estimate.ts';
import type { RunSelection } from './runs-table.tsx';
import { bulkFilterOf, useBulk } from './use-bulk.ts';
import type { BulkKind } from './use-bulk.ts';

interface BulkBarProps {
  selection: RunSelection & { clear: () => void };
  rows: readonly RunSummary[];
  filters: RunFilters;
  estimate: { count: number; isExact: boolean } | undefined;
}

/** Actions for the selected runs, and for all runs that match the filter. */
export function BulkBar({ selection, rows, filters, estimate }: BulkBarProps) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const [asked, setAsked] = useState<BulkKind | 'filter' | null>(null);
  const bulk = useBulk();
  const { ids } = selection;
  const close = () => {
    // The dialog stays until the hub has answered the request that is under way, and then shows what was done.
    if (bulk.state.isRunning) return bulk.stop();
    setAsked(null);
    bulk.reset();
  };
  const isOne = ids.size === 1;
  if (bulk.state.hasEnded)
    return (
      <BulkResults
        state={bulk.state}
        names={new Map(rows.map(({ id, workflowName }) => [id, workflowName]))}
        onClose={() => {
          selection.clear();
          close();
        }}
      />
    );
  return (
    <>
      {ids.size > 0 && (
        <div
          role="toolbar"
          aria-label={format(texts.selected, { count: ids.size })}
          className="sticky bottom-3 z-6 mt-2 flex flex-wrap items-center gap-2 rounded-(--radius-large) border bg-surface-raised px-3 py-2 shadow-medium"
        >
          <span className="font-semibold">{format(texts.selected, { count: ids.size })}</span>
          <Button size="small" onClick={() => setAsked('cancel')}>
            {texts.cancelConfirm}
          </Button>
          <Button size="small" onClick={() => setAsked('retry')}>
            {texts.retryConfirm}
          </Button>
          <Button size="small" variant="quiet" onClick={() => setAsked('filter')}>
            {texts.matching}
          </Button>
          <Button size="small" variant="quiet" className="ms-auto" onClick={selection.clear}>
            {texts.clearSelection}
          </Button>
        </div>
      )}
      {asked === 'cancel' && (
        <Confirm
          title={isOne ? texts.cancelOneTitle : format(texts.cancelTitle, { count: ids.size })}
          confirm={isOne ? texts.cancelOneConfirm : texts.cancelConfirm}
          keep={bulk.state.isRunning ? texts.stop : isOne ? texts.keepRun : texts.keepRuns}
          action={{ isPending: bulk.state.isRunning, error: bulk.state.error }}
          onConfirm={() => bulk.byIds('cancel', [...ids])}
          onClose={close}
        >
          {texts.cancelText}
        </Confirm>
      )}
      {asked === 'retry' && (
        <Confirm
          title={isOne ? texts.retryOneTitle : format(texts.retryTitle, { count: ids.size })}
          confirm={texts.retryConfirm}
          keep={bulk.state.isRunning ? texts.stop : undefined}
          isDangerous={false}
          action={{ isPending: bulk.state.isRunning, error: bulk.state.error }}
          onConfirm={() => bulk.byIds('retry', [...ids])}
          onClose={close}
        >
          {texts.retryText}
        </Confirm>
      )}
      {asked === 'filter' && <ByFilter bulk={bulk} filters={filters} estimate={estimate} onClose={close} />}
    </>
  );
}

/** Cancels or retries all runs that match the filter. */
function ByFilter({
  bulk,
  filters,
  estimate,
  onClose,
}: Pick<BulkBarProps, 'filters' | 'estimate'> & { bulk: ReturnType<typeof useBulk>; onClose: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const countText = useCountText();
  const { isRunning, done, refused, error } = bulk.state;
  const cancel = bulkFilterOf('cancel', filters);
  const retry = bulkFilterOf('retry', filters);
  return (
    <Dialog title={texts.byFilterTitle} isClosable={!isRunning} onClose={onClose}>
      <p className="mb-2">
        {format(texts.byFilterText, { count: estimate === undefined ? '…' : countText(estimate) })}
      </p>
      {isRunning && (
        <p role="status" className="mb-2">
          {format(texts.progress, { done, failed: refused.length })}
        </p>
      )}
      <ErrorNote error={error} />
      {!isRunning && (
        <div className="mb-4 divide-y rounded-(--radius-large) border *:px-3 *:py-2.5">
          <div role="group" aria-label={texts.byFilterRetry}>
            <p className="mb-2 text-text-muted">{texts.retryText}</p>
            <Button disabled={retry === null} onClick={() => retry !== null && bulk.byFilter('retry', retry)}>
              {texts.byFilterRetry}
            </Button>
          </div>
          <div role="group" aria-label={texts.byFilterCancel}>
            <p className="mb-2 text-text-muted">{texts.cancelText}</p>
            <Button
              variant="danger"
              disabled={cancel === null}
              onClick={() => cancel !== null && bulk.byFilter('cancel', cancel)}
            >
              {texts.byFilterCancel}
            </Button>
          </div>
        </div>
      )}
      <div className="flex justify-end">
        {isRunning ? (
          <Button onClick={bulk.stop}>{texts.stop}</Button>
        ) : (
          <Button onClick={onClose}>{words.common.close}</Button>
        )}
      </div>
    </Dialog>
  );
}
