import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Pack } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card, Empty, Page } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Pill } from '../../ui/status.tsx';
import { CreateWorkflowDialog } from './create-workflow-dialog.tsx';
import { InstallDialog } from './install-dialog.tsx';

function PackCard({ pack, onInstall, onCreate }: { pack: Pack; onInstall: () => void; onCreate: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.packs;
  const isAdmin = useIsAdmin();
  const { installedVersion, version } = pack;
  return (
    <Card className="flex flex-col gap-2 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 wrap-anywhere">{visibleLine(pack.name)}</h2>
        {installedVersion !== null && (
          <Pill tone={installedVersion === version ? 'success' : 'warning'}>
            {installedVersion === version ? texts.installed : format(texts.installedOld, { version: installedVersion })}
          </Pill>
        )}
      </div>
      <p className="text-sm text-text-muted">{format(texts.by, { publisher: visibleLine(pack.publisher), version })}</p>
      <p className="wrap-anywhere">{visibleLine(pack.summary)}</p>
      <div className="mt-auto flex flex-wrap gap-2 pt-1">
        {installedVersion !== version && (
          <Button disabled={!isAdmin} title={isAdmin ? undefined : texts.onlyAdmins} onClick={onInstall}>
            {installedVersion === null ? texts.install : texts.update}
          </Button>
        )}
        {installedVersion !== null && (
          <Button variant="primary" onClick={onCreate}>
            {texts.create}
          </Button>
        )}
      </div>
    </Card>
  );
}

/** Workflows that others made, with what they may do. */
export function PacksPage() {
  const { words } = useLanguage();
  const texts = words.packs;
  const list = useInfiniteQuery(pagedQuery('listAutomationSkills', { query: { limit: 50 } }));
  const [open, setOpen] = useState<{ pack: Pack; dialog: 'install' | 'create' } | null>(null);
  return (
    <Page title={words.common.packs}>
      <PagedList of={list} empty={<Empty title={texts.empty}>{texts.emptyText}</Empty>}>
        {(packs) => (
          <div className="grid gap-3.5 sm:grid-cols-2 xl:grid-cols-3">
            {packs.map((pack) => (
              <PackCard
                key={`${pack.id} ${pack.version}`}
                pack={pack}
                onInstall={() => setOpen({ pack, dialog: 'install' })}
                onCreate={() => setOpen({ pack, dialog: 'create' })}
              />
            ))}
          </div>
        )}
      </PagedList>
      {open?.dialog === 'install' && <InstallDialog pack={open.pack} onClose={() => setOpen(null)} />}
      {open?.dialog === 'create' && <CreateWorkflowDialog pack={open.pack} onClose={() => setOpen(null)} />}
    </Page>
  );
}
