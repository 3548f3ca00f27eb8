import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { JsonTree } from '../../../ui/json-tree.tsx';
import { Empty, TextLink } from '../../../ui/layout.tsx';
import { shortId } from '../../../ui/object-links.tsx';
import { LocalTime } from '../../../ui/time.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { AuditFilters } from './audit-filters.tsx';
import { Changes, changesOf } from './changes.tsx';
import { settingsObjects, targetLink } from './target-link.ts';
import { useActorNames } from './use-actor-names.ts';

type Entry = Answer<'listAuditLog'>['data'][number];

const pageRows = 25;
/** Longer values are in the JSON only. */
const shownCharacters = 80;
const shownDetails = 4;

/** Ids and hashes. The JSON has the whole values. */
const identifiers = /\b(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32,})\b/g;

/** The short details of an entry in one line, such as `role: admin`. */
function summaryOf(details: Entry['details']): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null && typeof value !== 'object')
    .map(([name, value]) => `${name}: ${String(value).replaceAll(identifiers, shortId)}`)
    .filter((text) => text.length <= shownCharacters)
    .slice(0, shownDetails)
    .map((text) => visibleLine(text))
    .join(' · ');
}

/** The object that an entry is about: its name or the end of its id, with a link to its page. */
function Target({ entry, nameOf }: { entry: Entry; nameOf: (actor: string) => string }) {
  const { settings } = useLanguage().words;
  const { targetType, targetId } = entry;
  // The workspace is the one of this page.
  if (targetType === 'workspace') return null;
  const link = targetLink(targetType, targetId);
  const isNamed = targetType === 'user' || targetType === 'token' || targetType === 'node';
  const name = isNamed ? (
    nameOf(`${targetType}:${targetId}`)
  ) : (
    <code>{visibleLine(targetType === 'pack' ? targetId : shortId(targetId))}</code>
  );
  if (link === null) return <span className="wrap-anywhere text-text-muted">{name}</span>;
  return (
    <span className="min-w-0 wrap-anywhere">
      <TextLink {...link}>{targetType in settingsObjects ? settings.audit.open : name}</TextLink>
    </span>
  );
}

/** Where an approval was requested: the workflow, the node and the run, each with a link to its page. */
function Origin({ details }: { details: Entry['details'] }) {
  const { objectType } = useLanguage().words.common;
  const parts = (['workflow', 'node', 'run'] as const).flatMap((type) => {
    const id = details[`${type}Id`];
    const link = typeof id === 'string' ? targetLink(type, id) : null;
    if (typeof id !== 'string' || link === null) return [];
    const name = details[`${type}Name`];
    return [
      <span key={type}>
        {objectType[type]}{' '}
        <TextLink {...link}>
          {typeof name === 'string' ? <bdi>{visibleLine(name)}</bdi> : <code>{shortId(id)}</code>}
        </TextLink>
      </span>,
    ];
  });
  return (
    <p className="flex flex-wrap gap-x-1.5 text-sm wrap-anywhere text-text-muted *:not-last:after:ms-1.5 *:not-last:after:content-['·']">
      {parts}
    </p>
  );
}

/** Details that `Origin` shows. */
const originNames: readonly string[] = ['workflowId', 'workflowName', 'nodeId', 'nodeName', 'runId'];

function EntryRow({ entry, nameOf }: { entry: Entry; nameOf: (actor: string) => string }) {
  const { settings } = useLanguage().words;
  const words = settings.audit;
  const [, change] = useSettingsSearch();
  const [isOpen, setOpen] = useState(false);
  const actions: Record<string, string> = words.actions;
  const diff = changesOf(entry.details);
  const { from: _from, to: _to, ...others } = entry.details;
  const hasOrigin = entry.targetType === 'approval' && typeof entry.details.workflowId === 'string';
  const summarized = hasOrigin
    ? Object.fromEntries(Object.entries(entry.details).filter(([name]) => !originNames.includes(name)))
    : diff.length > 0
      ? others
      : entry.details;
  // The changes of named fields have the values of all other details.
  const summary = diff.some(({ name }) => name !== null) ? '' : summaryOf(summarized);
  return (
    <li className="px-3.5 py-2.5">
      <div className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
        <button
          type="button"
          title={words.onlyActor}
          className="min-w-0 text-start font-semibold wrap-anywhere hover:underline"
          onClick={() => change({ actor: entry.actor })}
        >
          {nameOf(entry.actor)}
        </button>
        <span>{actions[entry.action] ?? visibleLine(entry.action)}</span>
        <Target entry={entry} nameOf={nameOf} />
        <span className="ms-auto flex items-baseline gap-2 text-sm text-text-muted">
          <LocalTime at={entry.createdAt} />
          <Button size="small" variant="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            JSON
          </Button>
        </span>
      </div>
      {hasOrigin && <Origin details={entry.details} />}
      {summary !== '' && <p className="text-sm wrap-anywhere text-text-muted">{summary}</p>}
      {diff.length > 0 && <Changes changes={diff} />}
      {isOpen && (
        <div className="mt-2">
          <JsonTree value={entry} />
        </div>
      )}
    </li>
  );
}

export function AuditSection() {
  const { settings } = useLanguage().words;
  const words = settings.audit;
  const tenantId = useTenantId();
  const [{ actor, action, targetType, targetId, from, to }] = useSettingsSearch();
  const { known, nameOf } = useActorNames();
  const filters = {
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(targetType === undefined ? {} : { targetType }),
    ...(targetId === undefined ? {} : { targetId }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const isFiltered = Object.keys(filters).length > 0;
  const list = useInfiniteQuery(
    pagedQuery('listAuditLog', { params: { tenantId }, query: { ...filters, limit: pageRows } }),
  );
  return (
    <>
      <AuditFilters
        // The filters take over a change of the address, such as by the back button.
        key={JSON.stringify(filters)}
        actors={known}
      />
      <PagedRows
        list={list}
        operation="listAuditLog"
        empty={<Empty title={words.empty}>{isFiltered ? words.emptyFiltered : words.emptyText}</Empty>}
      >
        {(entries) => (
          <ul className="divide-y">
            {entries.map((entry) => (
              <EntryRow key={entry.id} entry={entry} nameOf={nameOf} />
            ))}
          </ul>
        )}
      </PagedRows>
    </>
  );
}
