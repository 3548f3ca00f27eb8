/** Renders the page at `/docs`. A script that this hub serves renders the API reference in it. */
export function renderReferencePage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Outrigger API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<script src="/assets/scalar.js"></script>
<script src="/assets/docs.js"></script>
</body>
</html>
`;
}

/**
 * Replaces colours of the reference that have too little contrast (WCAG AA), and wraps long paths instead of cutting
 * them.
 */
const referenceStyle =
  '.light-mode { --scalar-color-2: #4f4f4f; --scalar-color-3: #5f5f5f; --scalar-color-green: #0a6b45; --scalar-color-blue: #0560a6; --scalar-color-yellow: #7a5600; --scalar-color-orange: #9a4a00; --scalar-color-red: #b3261e; } .dark-mode { --scalar-color-3: #a0a0a0; --scalar-color-red: #ff8a80; } .endpoint-path { white-space: normal; overflow-wrap: anywhere; }';

/** Starts the reference with all features off that call other hosts. */
export const referenceScript = `Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  proxyUrl: '',
  withDefaultFonts: false,
  customCss: '${referenceStyle}',
  telemetry: false,
  authentication: { preferredSecurityScheme: 'apiKey' },
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
});
`;
