/**
 * Styles of the launcher and the frame. Their shadow root adopts them as a style sheet, because a strict content
 * security policy of the host blocks style elements and attributes.
 */
export const style = `
:host{all:initial!important;display:block!important;position:fixed!important;inset:auto!important;width:0!important;height:0!important;z-index:2147483000!important}
:host([hidden]){display:none!important}
button{all:unset;box-sizing:border-box;position:fixed;z-index:1;inset-block-end:max(20px,env(safe-area-inset-bottom));inset-inline-end:max(20px,env(safe-area-inset-right));width:56px;height:56px;border-radius:50%;background:var(--brand,#0b5fff);color:var(--ink,#fff);cursor:pointer;display:grid;place-items:center;box-shadow:0 1px 3px #0003,0 8px 24px #0004;transition:transform .16s ease,box-shadow .16s ease;-webkit-tap-highlight-color:transparent}
button[hidden]{display:none}
button:hover{transform:scale(1.05);box-shadow:0 2px 4px #0003,0 12px 32px #0005}
button:active{transform:scale(.96)}
button:focus-visible{outline:3px solid var(--brand,#0b5fff);outline-offset:3px;box-shadow:0 0 0 3px #fff}
svg{grid-area:1/1;width:26px;height:26px;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round;transition:transform .2s ease,opacity .2s ease}
.x,.open .c{opacity:0;transform:rotate(-45deg) scale(.6)}
.open .x{opacity:1;transform:none}
b{all:unset;position:absolute;inset-block-start:-4px;inset-inline-end:-4px;box-sizing:border-box;min-width:22px;height:22px;padding:0 6px;border-radius:11px;background:#b3261e;color:#fff;font:700 12px/22px system-ui,sans-serif;text-align:center;box-shadow:0 0 0 2px #fff}
b[hidden]{display:none}
p{all:unset}
iframe,p{box-sizing:border-box;position:fixed;inset-block-end:calc(max(20px,env(safe-area-inset-bottom)) + 72px);inset-inline-end:max(20px,env(safe-area-inset-right));width:400px;height:min(680px,100dvh - 112px);max-width:calc(100vw - 40px);border:0;border-radius:18px;background:#fff;color:#171a1f;color-scheme:light dark;box-shadow:0 0 0 1px #0000000f,0 18px 60px #0000003d;transform-origin:100% 100%;transition:opacity .18s ease,transform .18s ease,visibility 0s .18s;opacity:0;transform:translateY(12px) scale(.97);visibility:hidden}
:host(:dir(rtl)) :is(iframe,p){transform-origin:0 100%}
p{display:grid;place-items:center;padding:32px;font:15px/1.5 system-ui,sans-serif;text-align:center}
p:empty::after{content:'';width:28px;height:28px;border:3px solid #8888;border-block-start-color:var(--brand,#0b5fff);border-radius:50%;animation:t .8s linear infinite}
@keyframes t{to{transform:rotate(1turn)}}
.open~iframe,.open~p{opacity:1;transform:none;visibility:visible;transition-delay:0s}
@media (prefers-color-scheme:dark){iframe,p{background:#1f2227;color:#eceef1;box-shadow:0 0 0 1px #ffffff1f,0 18px 60px #000a}}
@media (max-width:480px),(max-height:460px){iframe,p{inset:0;width:100vw;height:100dvh;max-width:none;border-radius:0}.open.here{visibility:hidden}}
@media (prefers-reduced-motion:reduce){button,svg,iframe,p{transition:none!important}p::after{animation:none!important}}
@media (forced-colors:active){button{border:2px solid ButtonText}b,p{border:1px solid}}
@media print{button,iframe,p{display:none}}
`;
