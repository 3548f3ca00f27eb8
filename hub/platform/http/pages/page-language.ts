/** Languages of the pages with which people sign in and sign up. The dashboard has the same. */
const pageLocales = ['en', 'de', 'ar'] as const;
export type PageLocale = (typeof pageLocales)[number];

const isPageLocale = (name: string): name is PageLocale => pageLocales.some((locale) => locale === name);

/** The first language of an `Accept-Language` header that the pages have, by its weights; English without one. */
export function pageLocaleOf(header: string | undefined): PageLocale {
  const accepted = (header ?? '')
    .slice(0, 1_000)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
      return { language: tag.trim().split('-')[0] ?? '', weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    // The sort is stable, so languages of one weight keep their order.
    .toSorted((left, right) => right.weight - left.weight);
  return accepted.map(({ language }) => language).find(isPageLocale) ?? 'en';
}
