import { useInfiniteQuery } from '@tanstack/react-query';
import { FileDown } from 'lucide-react';
import { useEffect, useState } from 'react';
import { addressOf } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereads } from '../../app/live-updates.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useStepName } from './names.tsx';
import type { Run, RunArtifact } from './run-model.ts';

/** Pages of 100 artifacts. A run keeps at most 1,000. */
const pageSize = 100;

/** The artifacts of a run by step, oldest first. More are read when the reader asks for them or a step got new ones. */
export function useArtifacts(run: Run) {
  const rereads = useRereads();
  const count = run.stepsResultJson.reduce((sum, { artifactIds }) => sum + artifactIds.length, 0);
  const options = pagedQuery('listAutomationRunArtifacts', { params: { id: run.id }, query: { limit: pageSize } });
  const result = useInfiniteQuery({ ...options, enabled: count > 0 });
  const { queryKey } = options;
  const loaded = result.data?.pages.reduce((sum, { data }) => sum + data.length, 0) ?? 0;
  // Compared with what the list had when it was read, so that an artifact without a row causes no endless reading.
  const [readFor, setReadFor] = useState(count);
  useEffect(() => {
    if (count === readFor) return;
    setReadFor(count);
    rereads.request(queryKey);
  }, [count, readFor, rereads, queryKey]);
  const byStep = new Map<number, RunArtifact[]>();
  for (const artifact of result.data?.pages.flatMap(({ data }) => data) ?? [])
    byStep.set(artifact.stepIndex, [artifact, ...(byStep.get(artifact.stepIndex) ?? [])]);
  return { ...result, byStep, missing: result.hasNextPage ? Math.max(0, count - loaded) : 0 };
}

/** Formats that browsers show as pictures. Others, such as SVG, are offered as files. */
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']);

type Kind = 'picture' | 'video' | 'audio' | 'file';

function kindOf({ contentType }: RunArtifact): Kind {
  if (pictureTypes.has(contentType)) return 'picture';
  if (contentType.startsWith('video/')) return 'video';
  return contentType.startsWith('audio/') ? 'audio' : 'file';
}

const urlOf = ({ id }: RunArtifact, width?: '320' | '640') =>
  addressOf('', 'getAutomationArtifact', { params: { id }, query: width === undefined ? {} : { w: width } }).url;

/** What is known of an artifact, such as "screen.png · 1280 × 800 · 18 kB". */
export function useArtifactFacts(): (artifact: RunArtifact) => string {
  const { bytes, number } = useLanguage();
  return ({ name, width, height, bytes: size }) =>
    [
      visibleLine(name),
      ...(width === null || height === null ? [] : [`${number(width)} × ${number(height)}`]),
      bytes(size),
    ].join(' · ');
}

function FileLink({ artifact }: { artifact: RunArtifact }) {
  const factsOf = useArtifactFacts();
  return (
    <a
      href={urlOf(artifact)}
      download={artifact.name}
      className="inline-flex max-w-full items-center gap-1.5 rounded-(--radius-medium) border bg-surface px-2 py-1 text-sm text-accent no-underline hover:underline"
    >
      <FileDown size={15} aria-hidden className="shrink-0" />
      <span className="min-w-0 truncate">{factsOf(artifact)}</span>
    </a>
  );
}

/** A picture; when its content is gone or broken, its file instead. */
function Picture({
  artifact,
  maxWidth,
  className,
}: {
  artifact: RunArtifact;
  maxWidth?: '320' | '640';
  className: string;
}) {
  const { words, format } = useLanguage();
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <span className="text-sm text-text-muted">{words.run.pictureGone}</span>;
  return (
    <img
      src={urlOf(artifact, maxWidth)}
      alt={format(words.run.pictureOf, { name: visibleLine(artifact.name) })}
      loading="lazy"
      decoding="async"
      className={className}
      onError={() => setBroken(true)}
      {...(artifact.width === null || artifact.height === null
        ? {}
        : { width: artifact.width, height: artifact.height })}
    />
  );
}

/** A picture, clip or file in the lane of its step. */
function Thumbnail({ artifact, onOpen }: { artifact: RunArtifact; onOpen: () => void }) {
  const { words, format } = useLanguage();
  const kind = kindOf(artifact);
  const frame = 'h-24 w-auto max-w-full rounded-(--radius-medium) border bg-surface-muted object-contain';
  const name = visibleLine(artifact.name);
  if (kind === 'file') return <FileLink artifact={artifact} />;
  if (kind === 'audio')
    return <audio controls preload="none" src={urlOf(artifact)} aria-label={name} className="h-10 w-64 max-w-full" />;
  return (
    <button
      type="button"
      onClick={onOpen}
      aria-label={format(words.run.enlarge, { name })}
      className="block max-w-full"
    >
      {kind === 'picture' ? (
        <Picture artifact={artifact} maxWidth="320" className={frame} />
      ) : (
        <video preload="metadata" muted playsInline src={urlOf(artifact)} className={frame} />
      )}
    </button>
  );
}

function LargeView({ artifact }: { artifact: RunArtifact }) {
  const kind = kindOf(artifact);
  const fit = 'mx-auto h-auto max-h-[70dvh] w-auto max-w-full rounded-(--radius-medium) object-contain';
  if (kind === 'picture') return <Picture artifact={artifact} className={fit} />;
  if (kind === 'video') return <video controls autoPlay muted playsInline src={urlOf(artifact)} className={fit} />;
  return null;
}

/** Shows an artifact as large as the window allows. */
function ArtifactDialog({ run, artifact, onClose }: { run: Run; artifact: RunArtifact; onClose: () => void }) {
  const stepName = useStepName();
  const step = run.stepsResultJson[artifact.stepIndex];
  return (
    <Dialog title={step === undefined ? visibleLine(artifact.name) : stepName(step)} onClose={onClose} isWide>
      <LargeView artifact={artifact} />
      <p className="mt-3 flex justify-center">
        <FileLink artifact={artifact} />
      </p>
    </Dialog>
  );
}

/** Thumbnails that a lane shows. The inspector has all. */
const shownInLane = 4;

/** The newest artifacts of a step, in its lane. */
export function LaneArtifacts({ run, artifacts, onMore }: { run: Run; artifacts: RunArtifact[]; onMore: () => void }) {
  const { words, format } = useLanguage();
  const [open, setOpen] = useState<RunArtifact | null>(null);
  const hidden = artifacts.length - shownInLane;
  return (
    <div className="flex flex-wrap items-center gap-2 pb-1.5">
      {artifacts.slice(-shownInLane).map((artifact) => (
        <Thumbnail key={artifact.id} artifact={artifact} onOpen={() => setOpen(artifact)} />
      ))}
      {hidden > 0 && (
        <button type="button" className="text-sm text-accent hover:underline" onClick={onMore}>
          {format(words.run.moreArtifacts, { count: hidden })}
        </button>
      )}
      {open !== null && <ArtifactDialog run={run} artifact={open} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** All artifacts of a step, in the inspector. */
export function StepArtifacts({ run, artifacts }: { run: Run; artifacts: RunArtifact[] }) {
  const { words, format } = useLanguage();
  const [open, setOpen] = useState<RunArtifact | null>(null);
  return (
    <ul className="mb-3 flex flex-col gap-3">
      {artifacts.toReversed().map((artifact) => {
        const kind = kindOf(artifact);
        const name = visibleLine(artifact.name);
        return (
          <li key={artifact.id} className="flex flex-col items-start gap-1.5">
            {kind === 'picture' && (
              <button
                type="button"
                onClick={() => setOpen(artifact)}
                aria-label={format(words.run.enlarge, { name })}
                className="w-full"
              >
                <Picture
                  artifact={artifact}
                  className="h-auto w-full rounded-(--radius-medium) border bg-surface-muted"
                />
              </button>
            )}
            {kind === 'video' && (
              <video
                controls
                preload="metadata"
                playsInline
                src={urlOf(artifact)}
                aria-label={name}
                className="w-full rounded-(--radius-medium) border"
              />
            )}
            {kind === 'audio' && (
              <audio controls preload="none" src={urlOf(artifact)} aria-label={name} className="w-full" />
            )}
            <FileLink artifact={artifact} />
          </li>
        );
      })}
      {open !== null && <ArtifactDialog run={run} artifact={open} onClose={() => setOpen(null)} />}
    </ul>
  );
}
