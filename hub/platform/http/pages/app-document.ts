export interface AppDocument {
  /** Id of the element into which the script renders. */
  id: string;
  title: string;
  /** Addresses of the built files. They are relative where the page can also be below a path. */
  style: string;
  script: string;
  /** Attributes of `html`, such as ` data-locale="de"`. */
  attributes?: string;
  /** Further elements of the head. */
  head?: string;
  noScript?: string;
}

/** For the head of an app with a light and a dark theme. */
export const colorScheme = '<meta name="color-scheme" content="light dark">\n';

/** The HTML document of a web app. Every text must be escaped. */
export const appDocument = ({
  id,
  title,
  style,
  script,
  attributes = ' lang="en"',
  head = '',
  noScript = 'This page needs JavaScript.',
}: AppDocument): string => `<!doctype html>
<html${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="robots" content="noindex, nofollow">
${head}<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<div id="${id}"></div>
<noscript><p>${noScript}</p></noscript>
</body>
</html>
`;
