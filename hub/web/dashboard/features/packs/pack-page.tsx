import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { PackDetail } from '../../../../../shared/client/operations.ts';
import type { ObjectSchema } from '../../../../../shared/inputs-schema.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Facts, Page, Section, TextLink } from '../../ui/layout.tsx';
import { LoadedPage } from '../../ui/loaded.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { InputsList } from '../workflows/inputs-list.tsx';
import { stepName } from '../workflows/step-name.ts';
import { Grants } from './grants.tsx';
import { InstalledPill } from './installed-pill.tsx';
import { PackActions } from './pack-actions.tsx';

function Steps({ steps }: { steps: PackDetail['graph']['steps'] }) {
  const { words, format, number } = useLanguage();
  return (
    <ol className="flex flex-col gap-2">
      {steps.map((step, index) => {
        const { ifInput } = step as { ifInput?: string };
        return (
          <li key={index} className="flex flex-wrap items-baseline gap-x-2">
            <span className="w-6 text-end text-text-muted">{number(index + 1)}</span>
            <span className="min-w-0 wrap-anywhere">{visibleLine(stepName(step))}</span>
            {ifInput !== undefined && (
              <span className="text-sm text-text-muted">
                {format(words.packs.ifInput, { input: visibleLine(ifInput) })}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function Versions({ pack: { version: newest, versions, installedVersion } }: { pack: PackDetail }) {
  const texts = useLanguage().words.packs;
  return (
    <ul className="flex flex-col gap-1 text-sm">
      {versions.map(({ version, withdrawn }) => (
        <li key={version} className="flex flex-wrap items-baseline gap-x-2">
          <code>{version}</code>
          <span className="text-text-muted">
            {[
              version === newest && !withdrawn && texts.newest,
              version === installedVersion && texts.thisInstalled,
              withdrawn && texts.withdrawn,
            ]
              .filter((text) => text !== false)
              .join(', ')}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The workflows that were created from a pack. */
function PackWorkflows({ packId }: { packId: string }) {
  const { packs: texts, common } = useLanguage().words;
  const list = useInfiniteQuery(
    pagedQuery('listAutomationWorkflowSummaries', { query: { pack: packId, sort: 'createdAt', limit: 20 } }),
  );
  return (
    <PagedList of={list} empty={<p className="text-sm text-text-muted">{texts.noWorkflows}</p>}>
      {(workflows) => (
        <Table head={[texts.workflow, texts.state, texts.lastRun]}>
          {workflows.map(({ id, name, active, lastRun }) => (
            <Row key={id}>
              <Cell className="wrap-anywhere">
                <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id }}>
                  {visibleLine(name)}
                </TextLink>
              </Cell>
              <Cell>
                <Pill tone={active ? 'success' : 'neutral'}>{active ? texts.on : texts.off}</Pill>
              </Cell>
              <Cell>
                {lastRun === null ? (
                  common.none
                ) : (
                  <span className="flex flex-wrap items-center gap-2">
                    <StatusPill status={lastRun.status} />
                    <TextLink to="/runs/$runId" params={{ runId: lastRun.id }}>
                      <RelativeTime at={lastRun.queuedAt} />
                    </TextLink>
                  </span>
                )}
              </Cell>
            </Row>
          ))}
        </Table>
      )}
    </PagedList>
  );
}

/** One pack: what it does, what it may do, its inputs and versions, and the workflows that were created from it. */
export function PackPage() {
  const { words, format } = useLanguage();
  const texts = words.packs;
  const { packId } = useParams({ from: '/packs/$packId' });
  const pack = useQuery(query('getAutomationSkillPack', { params: { packId } }));
  const crumbs = [{ label: words.common.packs, link: { to: '/packs' as const } }];
  return (
    <LoadedPage of={pack} type="pack" missing={words.packs.missing} crumbs={crumbs}>
      {(loaded) => (
        <Page
          title={visibleLine(loaded.name)}
          crumbs={crumbs}
          aside={<InstalledPill pack={loaded} />}
          meta={format(texts.by, { publisher: visibleLine(loaded.publisher), version: loaded.version })}
          actions={<PackActions pack={loaded} />}
        >
          <p className="mb-4 max-w-prose wrap-anywhere">{visibleLine(loaded.summary)}</p>
          <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
            <div className="flex min-w-0 flex-col gap-4">
              <Section title={texts.grants}>
                {loaded.grants === null ? <p>{texts.refused}</p> : <Grants grants={loaded.grants} />}
              </Section>
              <Section title={texts.workflows}>
                <PackWorkflows packId={loaded.id} />
              </Section>
              <Section title={texts.json}>
                <CodeBlock text={JSON.stringify(loaded, null, 2)} label={texts.json} />
              </Section>
            </div>
            <div className="flex min-w-0 flex-col gap-4">
              <Section title={texts.steps}>
                <Steps steps={loaded.graph.steps} />
              </Section>
              <Section title={texts.inputs}>
                <InputsList inputs={loaded.inputsSchema as ObjectSchema} empty={texts.noInputs} />
              </Section>
              <Section title={texts.versions}>
                <div className="mb-2">
                  <Facts rows={[[texts.source, texts.sources[loaded.source]]]} />
                </div>
                <Versions pack={loaded} />
              </Section>
            </div>
          </div>
        </Page>
      )}
    </LoadedPage>
  );
}
