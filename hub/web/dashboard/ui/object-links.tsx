import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { query } from '../app/api.ts';
import { TextLink } from './layout.tsx';

const shownIdCharacters = 13;
export const shortId = (id: string) => id.slice(0, shownIdCharacters);

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
