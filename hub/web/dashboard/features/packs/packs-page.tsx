import { useInfiniteQuery } from '@tanstack/react-query';
import type { Pack } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { InstalledPill } from './installed-pill.tsx';
import { PackActions } from './pack-actions.tsx';

function PackCard({ pack }: { pack: Pack }) {
  const { words, format } = useLanguage();
  const { id, name, version, publisher, summary } = pack;
  return (
    <Card className="flex flex-col gap-2 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 wrap-anywhere">
          <TextLink to="/packs/$packId" params={{ packId: id }}>
            {visibleLine(name)}
          </TextLink>
        </h2>
        <InstalledPill pack={pack} />
      </div>
      <p className="text-sm text-text-muted">
        {format(words.packs.by, { publisher: visibleLine(publisher), version })}
      </p>
      <p className="wrap-anywhere">{visibleLine(summary)}</p>
      <div className="mt-auto flex flex-wrap gap-2 pt-1">
        <PackActions pack={pack} />
      </div>
    </Card>
  );
}

/** Workflows that others made, with what they may do. */
export function PacksPage() {
  const { words } = useLanguage();
  const texts = words.packs;
  const list = useInfiniteQuery(pagedQuery('listAutomationSkills', { query: { limit: 50 } }));
  return (
    <Page title={words.common.packs}>
      <PagedList of={list} empty={<Empty title={texts.empty}>{texts.emptyText}</Empty>}>
        {(packs) => (
          <div className="grid gap-3.5 sm:grid-cols-2 xl:grid-cols-3">
            {packs.map((pack) => (
              <PackCard key={pack.id} pack={pack} />
            ))}
          </div>
        )}
      </PagedList>
    </Page>
  );
}
