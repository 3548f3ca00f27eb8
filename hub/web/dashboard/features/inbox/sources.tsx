import type { ChatAiToolUse, ChatMessageSource } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { linkParts } from '../../../../../shared/web/links.ts';
import { useLanguage } from '../../app/language.tsx';

const isWebAddress = (url: string) => linkParts(url).some(({ href, text }) => href !== undefined && text === url);

/** The knowledge entries and tools that the AI agent used. */
export function Sources({
  sources,
  tools,
}: {
  sources: readonly ChatMessageSource[];
  tools: readonly ChatAiToolUse[];
}) {
  const { words, duration } = useLanguage();
  const { inbox } = words;
  if (sources.length + tools.length === 0) return null;
  return (
    <ul aria-label={inbox.sources} className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs text-text-muted">
      {sources.map(({ id, url }) => (
        <li key={id} className="wrap-anywhere">
          {url !== null && isWebAddress(url) ? (
            <a href={url} title={url} target="_blank" rel="noopener noreferrer nofollow" className="underline">
              {visibleLine(id)}
            </a>
          ) : (
            visibleLine(id)
          )}
        </li>
      ))}
      {tools.map(({ name, ms, outcome }, index) => (
        <li key={index} className="wrap-anywhere">
          {`${name === '' ? inbox.unknownTool : visibleLine(name)}: ${inbox.toolOutcomes[outcome]}, ${duration(ms)}`}
        </li>
      ))}
    </ul>
  );
}
