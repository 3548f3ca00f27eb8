import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { query } from '../app/api.ts';
import { TextLink } from './layout.tsx';

const shownIdCharacters = 12;

/** The end of an id. Ids begin with a time, so ids of the same minute have the same start. */
export const shortId = (id: string) => (id.length <= shownIdCharacters ? id : `…${id.slice(-shownIdCharacters)}`);

/** Names of the newest nodes of the workspace, by id. */
export function useNodeNames(isNeeded: boolean): ReadonlyMap<string, string> {
  const { data } = useQuery({ ...query('listAutomationNodes', { query: { limit: 100 } }), enabled: isNeeded });
  return new Map(data?.data.map(({ id, name }) => [id, visibleLine(name)]));
}

export function NodeLink({ nodeId, names }: { nodeId: string; names: ReadonlyMap<string, string> }) {
  return (
    <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId }}>
      {names.get(nodeId) ?? shortId(nodeId)}
    </TextLink>
  );
}

export function RunLink({ runId, children }: { runId: string; children?: ReactNode }) {
  return (
    <TextLink to="/runs/$runId" params={{ runId }}>
      {children ?? <code>{shortId(runId)}</code>}
    </TextLink>
  );
}
