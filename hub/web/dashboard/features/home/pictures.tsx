import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RunArtifact } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Section } from '../../ui/layout.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useNodes } from './data.ts';

/** Newest ended runs whose artifacts are read, one request for each. */
const readRuns = 6;
const readArtifacts = 20;
const shownPictures = 2;
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

interface Picture extends RunArtifact {
  runId: string;
}

/** The newest pictures of the newest ended runs. */
function usePictures(): { pictures: Picture[] | null; error: Error | null; retry: () => unknown } {
  const {
    data: runs,
    error,
    refetch,
  } = useQuery(query('listAutomationRuns', { query: { statuses: 'succeeded,failed', limit: readRuns } }));
  const ids = runs?.data.map(({ id }) => id) ?? [];
  const pictures = useQueries({
    queries: ids.map((id) => ({
      ...query('listAutomationRunArtifacts', { params: { id }, query: { limit: readArtifacts } }),
      // An ended run gets no further artifacts.
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine(results) {
      if (runs === undefined || results.some(({ isLoading }) => isLoading)) return null;
      return results
        .flatMap(({ data }, index) => (data?.data ?? []).map((artifact) => ({ ...artifact, runId: ids[index] ?? '' })))
        .filter(({ contentType }) => pictureTypes.has(contentType))
        .toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
        .slice(0, shownPictures);
    },
  });
  return { pictures, error: runs === undefined ? error : null, retry: refetch };
}

/** The latest pictures that runs took on machines. */
export function Pictures() {
  const { words, format } = useLanguage();
  const texts = words.home;
  const { pictures, error, retry } = usePictures();
  const { data: nodes } = useNodes(true);
  const nameOf = (nodeId: string) => visibleLine(nodes?.data.find(({ id }) => id === nodeId)?.name ?? nodeId);
  return (
    <Section title={texts.pictures}>
      {error !== null && <LoadError error={error} onRetry={retry} />}
      {pictures !== null && pictures.length === 0 && <p className="text-text-muted">{texts.noPictures}</p>}
      <ul className="grid gap-3 sm:grid-cols-2">
        {(pictures ?? []).map(({ id, runId, nodeId, createdAt }) => (
          <li key={id} className="min-w-0">
            <Link to="/runs/$runId" params={{ runId }} className="block text-text-muted no-underline hover:underline">
              <img
                src={`/v1/automations/artifacts/${id}?w=640`}
                alt={format(texts.pictureOf, { node: nameOf(nodeId) })}
                loading="lazy"
                decoding="async"
                className="aspect-16/10 w-full rounded-(--radius-medium) border bg-surface-muted object-contain"
              />
              <span className="mt-1 block text-sm wrap-anywhere">
                {nameOf(nodeId)} · <RelativeTime at={createdAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
