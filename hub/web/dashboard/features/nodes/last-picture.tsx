import { useQuery } from '@tanstack/react-query';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Section, TextLink } from '../../ui/layout.tsx';
import { RelativeTime } from '../../ui/time.tsx';

/** The newest picture of the screen that a workflow took, with its run. Nothing if there is none. */
export function LastPicture({ nodeId }: { nodeId: string }) {
  const { nodes } = useLanguage().words;
  const commands = useQuery(
    query('listAutomationNodeCommands', {
      params: { id: nodeId },
      query: { type: 'node.capture_screen', status: 'succeeded', limit: 1 },
    }),
  );
  const command = commands.data?.data[0];
  const artifacts = useQuery({
    ...query('listAutomationRunArtifacts', { params: { id: command?.runId ?? '' }, query: { limit: 100 } }),
    enabled: command !== undefined,
  });
  const picture = artifacts.data?.data.find(
    ({ commandId, contentType }) => commandId === command?.id && contentType.startsWith('image/'),
  );
  if (command === undefined || picture === undefined) return null;
  return (
    <Section title={nodes.lastPicture}>
      <a href={`/v1/automations/artifacts/${picture.id}`} target="_blank" rel="noreferrer">
        <img
          src={`/v1/automations/artifacts/${picture.id}?w=640`}
          alt={nodes.screenPicture}
          width={picture.width ?? undefined}
          height={picture.height ?? undefined}
          loading="lazy"
          className="h-auto w-full rounded-(--radius-medium) border"
        />
      </a>
      <p className="mt-2 flex flex-wrap gap-x-3 text-sm text-text-muted">
        <RelativeTime at={picture.createdAt} />
        <TextLink to="/runs/$runId" params={{ runId: command.runId }}>
          {nodes.openRun}
        </TextLink>
      </p>
    </Section>
  );
}
