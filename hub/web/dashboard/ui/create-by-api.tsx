import { useLanguage } from '../app/language.tsx';

/** How to create an object that the dashboard has no form for. */
export function CreateByApi({ path }: { path: string }) {
  const { common } = useLanguage().words;
  return (
    <p className="mt-2 flex flex-wrap items-baseline justify-center gap-x-3">
      <code dir="ltr">POST {path}</code>
      <a className="text-accent underline" href="/docs" target="_blank" rel="noreferrer">
        {common.apiReference}
      </a>
    </p>
  );
}
